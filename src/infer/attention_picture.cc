#include "infer/attention_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "text/markup.h"
#include "text/utf8.h"

namespace zhuyi::infer {
namespace {

using text::escaped;

constexpr float kFaintest = 0.005F;  // lighter cells of the small grids are left out: nobody sees them

// Pixels that the longest label needs in the page's font of 13 pixels.
std::int64_t label_width(const std::vector<std::string>& labels) {
  std::int64_t widest = 0;
  for (const std::string& label : labels) {
    std::int64_t width = 0;
    for (const char32_t c : text::decode_utf8(label)) width += c < 0x1100 ? 8 : 14;
    widest = std::max(widest, width);
  }
  return widest;
}

struct Grid {
  std::int64_t cell = 0;  // pixels
  std::int64_t left = 0;
  std::int64_t top = 0;
  float faintest = 0;
};

// One cell a pair of tokens; weight(target, source) is its shade. Appends to `svg`.
template <class Weight>
void draw_cells(std::string& svg, const CrossAttention& attention, const Grid& grid, const Weight& weight) {
  const auto out = std::back_inserter(svg);
  for (std::size_t t = 0; t < attention.target.size(); ++t) {
    for (std::size_t s = 0; s < attention.source.size(); ++s) {
      const float value = weight(static_cast<std::int64_t>(t), static_cast<std::int64_t>(s));
      if (value < grid.faintest) continue;
      fmt::format_to(out,
                     "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.3f}\"><title>{} ← {}: {:.3f}"
                     "</title></rect>\n",
                     grid.left + static_cast<std::int64_t>(s) * grid.cell,
                     grid.top + static_cast<std::int64_t>(t) * grid.cell, grid.cell, grid.cell, value,
                     escaped(attention.target[t]), escaped(attention.source[s]), value);
    }
  }
  fmt::format_to(out, "<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", grid.left, grid.top,
                 static_cast<std::int64_t>(attention.source.size()) * grid.cell,
                 static_cast<std::int64_t>(attention.target.size()) * grid.cell);
}

// The grid with the pieces written beside it: the mean over the heads of the last layer.
std::string large_grid(const CrossAttention& attention) {
  const auto sources = static_cast<std::int64_t>(attention.source.size());
  const auto targets = static_cast<std::int64_t>(attention.target.size());
  const std::int64_t cell = std::max(sources, targets) <= 40 ? 26 : 16;
  const std::int64_t source_label = label_width(attention.source);
  const Grid grid{cell, label_width(attention.target) + 16, source_label + 16, 0};
  std::string svg = fmt::format("<svg width=\"{}\" height=\"{}\" role=\"img\">\n",
                                grid.left + sources * cell + source_label / 2 + 20, grid.top + targets * cell + 8);
  for (std::int64_t s = 0; s < sources; ++s) {
    const std::int64_t x = grid.left + s * cell + cell / 2 + 4;
    svg += fmt::format("<text x=\"{0}\" y=\"{1}\" transform=\"rotate(-65 {0} {1})\">{2}</text>\n", x, grid.top - 6,
                       escaped(attention.source[static_cast<std::size_t>(s)]));
  }
  for (std::int64_t t = 0; t < targets; ++t) {
    svg += fmt::format("<text class=\"row\" x=\"{}\" y=\"{}\">{}</text>\n", grid.left - 6,
                       grid.top + t * cell + cell / 2 + 5, escaped(attention.target[static_cast<std::size_t>(t)]));
  }
  draw_cells(svg, attention, grid,
             [&](std::int64_t t, std::int64_t s) { return attention.mean(attention.layers - 1, t, s); });
  return svg + "</svg>\n";
}

std::string small_grid(const CrossAttention& attention, std::int64_t layer, std::int64_t head) {
  const auto longer = static_cast<std::int64_t>(std::max(attention.source.size(), attention.target.size()));
  const Grid grid{std::clamp<std::int64_t>(140 / longer, 2, 12), 1, 1, kFaintest};
  std::string svg = fmt::format("<figure><svg width=\"{}\" height=\"{}\" role=\"img\">\n",
                                static_cast<std::int64_t>(attention.source.size()) * grid.cell + 2,
                                static_cast<std::int64_t>(attention.target.size()) * grid.cell + 2);
  draw_cells(svg, attention, grid, [&](std::int64_t t, std::int64_t s) { return attention.at(layer, head, t, s); });
  return svg + fmt::format("</svg><figcaption>head {}</figcaption></figure>\n", head + 1);
}

constexpr std::string_view kStyle = R"(
body { font: 15px/1.5 system-ui, "Noto Sans", "Noto Sans CJK SC", sans-serif; margin: 24px; color: #222; background: #fff; }
h1 { font-size: 20px; } h2 { font-size: 16px; margin: 28px 0 8px; } h3 { font-size: 14px; font-weight: normal; margin: 12px 0 4px; }
p { max-width: 46em; } .wide { overflow-x: auto; }
svg text { font-size: 13px; fill: #222; } svg text.row { text-anchor: end; }
svg rect { fill: #1f4e9c; } svg rect.frame { fill: none; stroke: #bbb; } svg rect:hover { stroke: #d33; }
figure { display: inline-block; margin: 0 14px 10px 0; vertical-align: top; } figcaption { font-size: 12px; color: #555; }
)";

}  // namespace

float CrossAttention::at(std::int64_t layer, std::int64_t head, std::int64_t target_index,
                         std::int64_t source_index) const {
  const std::int64_t row = (layer * heads + head) * std::ssize(target) + target_index;
  return weights.at(static_cast<std::size_t>(row * std::ssize(source) + source_index));
}

float CrossAttention::mean(std::int64_t layer, std::int64_t target_index, std::int64_t source_index) const {
  float sum = 0;
  for (std::int64_t head = 0; head < heads; ++head) sum += at(layer, head, target_index, source_index);
  return sum / static_cast<float>(heads);
}

CrossAttention cross_attention(const formats::Model& model, std::span<const std::int32_t> source,
                               std::span<const std::int32_t> target) {
  CrossAttention result;
  for (const std::int32_t id : source) result.source.push_back(model.source.piece(id));
  for (const std::int32_t id : target) result.target.push_back(model.target.piece(id));
  result.layers = model.transformer->config().decoder_layers;
  result.heads = model.transformer->config().heads;
  nn::Tokens source_tokens;
  nn::Tokens target_tokens;
  source_tokens.append(source);
  target_tokens.append(target);
  autograd::Run run;
  const nn::Memory memory = model.transformer->encode(source_tokens, run);
  std::vector<autograd::AttentionRecord> records;
  run.attention_records = &records;
  model.transformer->decode(target_tokens, memory, run);
  // Each layer records its self-attention, then its attention over the memory.
  base::check_kind(std::ssize(records) == 2 * result.layers, base::ErrorKind::internal,
                   "attention: {} records of {} layers", records.size(), result.layers);
  for (std::size_t i = 1; i < records.size(); i += 2) {
    const std::span<const float> numbers = records[i].weights.data<float>();
    result.weights.insert(result.weights.end(), numbers.begin(), numbers.end());
  }
  const std::size_t expected = static_cast<std::size_t>(result.layers * result.heads) * source.size() * target.size();
  base::check_kind(result.weights.size() == expected, base::ErrorKind::internal, "attention: {} weights, expected {}",
                   result.weights.size(), expected);
  return result;
}

std::string attention_html(const CrossAttention& attention, const std::string& title) {
  base::check(!attention.source.empty() && !attention.target.empty() && attention.layers > 0 && attention.heads > 0,
              "attention_html: {} source and {} target tokens, {} layers, {} heads; expected some of each",
              attention.source.size(), attention.target.size(), attention.layers, attention.heads);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html>\n<head>\n"
      "<meta charset=\"utf-8\"/>\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n"
      "<h1>{0}</h1>\n<p>Each row is a piece of the translation at the moment it is chosen; the darker a cell, the "
      "more weight it gives the piece of the source above. A row sums to 1. Rest the pointer on a cell for its number. "
      "▁ marks the "
      "beginning of a word.</p>\n<h2>Last layer, mean of {2} heads</h2>\n<div class=\"wide\">\n",
      escaped(title), kStyle, attention.heads);
  page += large_grid(attention);
  page += "</div>\n<h2>Every layer and head</h2>\n";
  for (std::int64_t layer = 0; layer < attention.layers; ++layer) {
    page += fmt::format("<h3>layer {}</h3>\n<div>\n", layer + 1);
    for (std::int64_t head = 0; head < attention.heads; ++head) page += small_grid(attention, layer, head);
    page += "</div>\n";
  }
  return page + "</body>\n</html>\n";
}

}  // namespace zhuyi::infer
