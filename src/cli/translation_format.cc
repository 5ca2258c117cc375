#include "cli/translation_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "infer/alignment.h"
#include "text/utf8.h"

namespace zhuyi::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string pairs_of(const infer::Alternative& alternative) {
  std::string text;
  for (const auto& [source, target] : infer::hard_alignment(alternative.alignment)) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", source, target);
  }
  return text;
}

std::string plain(const infer::Translation& translation, std::int64_t line, const FormatOptions& options) {
  const auto alignment = [&](const infer::Alternative& alternative) {
    return options.hard_alignment ? " ||| " + pairs_of(alternative) : std::string();
  };
  if (options.n_best == 0) {
    std::string text = options.score ? fmt::format("{:.6f}\t", translation.score) : "";
    text += translation.text;
    if (!translation.alternatives.empty()) text += alignment(translation.alternatives.front());
    return text + "\n";
  }
  if (translation.alternatives.empty()) return fmt::format("{} |||  ||| 0.000000\n", line);
  std::string text;
  for (const infer::Alternative& alternative : translation.alternatives) {
    text += fmt::format("{} ||| {} ||| {:.6f}{}\n", line, alternative.text, alternative.score, alignment(alternative));
  }
  return text;
}

std::string tab_separated(const infer::Translation& translation, const std::string& source,
                          const FormatOptions& options) {
  std::string first = source;
  std::replace(first.begin(), first.end(), '\t', ' ');
  if (translation.alternatives.empty() || options.n_best == 0) {
    return fmt::format("{}\t{}\t{:.6f}\n", first, translation.text, translation.score);
  }
  std::string text;
  for (const infer::Alternative& alternative : translation.alternatives) {
    text += fmt::format("{}\t{}\t{:.6f}\n", first, alternative.text, alternative.score);
  }
  return text;
}

// Six digits after the point, as in the other formats.
double rounded(double number) { return std::round(number * 1e6) / 1e6; }

void add_alternative(Json& json, const infer::Alternative& alternative, const FormatOptions& options) {
  json["text"] = alternative.text;
  json["score"] = rounded(alternative.score);
  json["log_probability"] = rounded(alternative.log_probability);
  json["finished"] = alternative.finished;
  json["pieces"] = alternative.pieces;
  if (options.word_scores) {
    Json words = Json::array();
    for (const infer::WordScore& word : alternative.words) {
      words.push_back({{"text", word.text}, {"log_probability", rounded(word.log_probability)}});
    }
    json["words"] = std::move(words);
    json["end_log_probability"] = rounded(alternative.end_log_probability);
  }
  if (options.hard_alignment) json["alignment"] = infer::hard_alignment(alternative.alignment);
  if (options.soft_alignment) {
    Json rows = Json::array();
    for (const std::vector<float>& row : alternative.alignment) {
      Json numbers = Json::array();
      for (const float weight : row) numbers.push_back(rounded(static_cast<double>(weight)));
      rows.push_back(std::move(numbers));
    }
    json["attention"] = std::move(rows);
  }
}

std::string json_line(const infer::Translation& translation, const std::string& source, std::int64_t line,
                      const FormatOptions& options) {
  Json json;
  json["line"] = line;
  json["source"] = text::replace_invalid_utf8(source);
  const infer::Alternative blank;
  add_alternative(json, translation.alternatives.empty() ? blank : translation.alternatives.front(), options);
  json["parts"] = translation.parts;
  json["cut"] = translation.cut;
  if (options.hard_alignment || options.soft_alignment) json["source_pieces"] = translation.source_pieces;
  if (options.n_best > 0) {
    Json alternatives = Json::array();
    for (const infer::Alternative& alternative : translation.alternatives) {
      Json& next = alternatives.emplace_back();
      add_alternative(next, alternative, options);
    }
    json["n_best"] = std::move(alternatives);
  }
  if (options.seconds >= 0) json["seconds"] = rounded(options.seconds);
  return json.dump() + "\n";
}

}  // namespace

std::string text_of(const infer::Translation& translation, const std::string& source, std::int64_t line,
                    const FormatOptions& options) {
  switch (options.format) {
    case Format::plain:
      return plain(translation, line, options);
    case Format::tsv:
      return tab_separated(translation, source, options);
    case Format::json:
      return json_line(translation, source, line, options);
  }
  return {};
}

}  // namespace zhuyi::cli
