#include "data/sentences.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "data/filters.h"
#include "text/sentences.h"
#include "text/utf8.h"

namespace zhuyi::data {
namespace {

// The sentences of a paragraph that may have line breaks inside; one that is not UTF-8 is whole.
std::vector<std::string_view> sentences_of(const std::string& paragraph, const text::SentenceSplitter& splitter) {
  if (!text::valid_utf8(paragraph)) return {paragraph};
  std::string line = paragraph;
  for (char& c : line) c = c == '\n' || c == '\r' ? ' ' : c;
  std::vector<std::string_view> sentences;
  for (const std::string_view sentence : splitter.split(line)) {
    sentences.push_back(
        std::string_view(paragraph).substr(static_cast<std::size_t>(sentence.data() - line.data()), sentence.size()));
  }
  return sentences;
}

bool in_step(const std::vector<std::string_view>& sources, const std::vector<std::string_view>& targets) {
  if (sources.size() != targets.size() || sources.size() < 2) return false;
  const FilterOptions lengths{.max_length = 1 << 20, .max_ratio = 3, .target_script = Script::any};
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (drop_reason(sources[i], targets[i], lengths) == Reason::ratio) return false;
  }
  return true;
}

}  // namespace

std::vector<SentencePair> split_paragraphs(std::vector<SentencePair> pairs) {
  const text::SentenceSplitter splitter("en", false);
  std::vector<SentencePair> result;
  result.reserve(pairs.size());
  for (SentencePair& pair : pairs) {
    const std::vector<std::string_view> sources = sentences_of(pair.source, splitter);
    const std::vector<std::string_view> targets = sentences_of(pair.target, splitter);
    if (!in_step(sources, targets)) {
      result.push_back(std::move(pair));
      continue;
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      result.push_back({.source = std::string(sources[i]),
                        .target = std::string(targets[i]),
                        .document = pair.document,
                        .line = pair.line,
                        .weight = pair.weight});
    }
  }
  return result;
}

}  // namespace zhuyi::data
