#include "infer/alignment.h"

#include <algorithm>

#include "base/error.h"
#include "infer/attention_picture.h"

namespace zhuyi::infer {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";

// The pieces [begin, end) of the word that one of them belongs to: up to a piece that begins with a space.
std::pair<std::size_t, std::size_t> word_around(const std::vector<std::string>& pieces, std::size_t index) {
  std::size_t begin = index;
  while (begin > 0 && !pieces[begin].starts_with(kSpace)) --begin;
  std::size_t end = index + 1;
  while (end < pieces.size() && !pieces[end].starts_with(kSpace)) ++end;
  return {begin, end};
}

}  // namespace

std::vector<std::vector<float>> alignment_of(const formats::Model& model, std::span<const std::int32_t> source,
                                             std::span<const std::int32_t> target, const AlignmentOptions& options) {
  const CrossAttention attention = cross_attention(model, source, target);
  const std::int64_t layer = options.layer < 0 ? attention.layers - 1 : options.layer;
  base::check(layer < attention.layers && options.head < attention.heads,
              "alignment: layer {} and head {}, the model has {} layers and {} heads, counted from 0", layer,
              options.head, attention.layers, attention.heads);
  std::vector<std::vector<float>> rows;
  for (std::int64_t t = 0; t < std::ssize(target); ++t) {
    std::vector<float>& row = rows.emplace_back();
    for (std::int64_t s = 0; s < std::ssize(source); ++s) {
      row.push_back(options.head < 0 ? attention.mean(layer, t, s) : attention.at(layer, options.head, t, s));
    }
  }
  return rows;
}

std::vector<std::pair<std::int64_t, std::int64_t>> hard_alignment(const std::vector<std::vector<float>>& rows) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    if (rows[t].empty()) continue;
    const auto largest = std::max_element(rows[t].begin(), rows[t].end());
    pairs.emplace_back(largest - rows[t].begin(), static_cast<std::int64_t>(t));
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<std::string> copied_words(const formats::Model& model, const std::string& source_text,
                                      const Hypothesis& hypothesis, const AlignmentOptions& options) {
  std::vector<std::int32_t> source = model.source.encode(source_text);
  const std::vector<std::string> pieces = model.source.encode_pieces(source_text);  // unknown ones as they stand
  source.push_back(model.source.eos());
  std::vector<std::string> words(hypothesis.tokens.size());
  if (pieces.empty() || pieces.size() + 1 != source.size()) return words;
  const std::vector<std::vector<float>> rows = alignment_of(model, source, hypothesis.tokens, options);
  std::size_t last = pieces.size();  // where the word begins that was copied last
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (hypothesis.tokens[i] != model.target.unk()) {
      last = pieces.size();
      continue;
    }
    const std::vector<float>& row = rows[i];  // the source's eos, its last column, is no word
    const auto index = static_cast<std::size_t>(std::max_element(row.begin(), row.end() - 1) - row.begin());
    const auto [begin, end] = word_around(pieces, index);
    if (begin != last) words[i] = model.source.decode_pieces(std::span(pieces).subspan(begin, end - begin));
    last = begin;
  }
  return words;
}

}  // namespace zhuyi::infer
