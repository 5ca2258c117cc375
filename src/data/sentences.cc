#include "data/sentences.h"

#include <algorithm>
#include <array>
#include <utility>

#include "data/filters.h"

namespace zhuyi::data {
namespace {

constexpr std::string_view kWhite = " \t\r\n";
constexpr auto kWideEnds = std::to_array<std::string_view>({"。", "！", "？"});
constexpr auto kClosing =
    std::to_array<std::string_view>({"」", "』", "”", "’", "）", "】", "》", ")", "]", "\"", "'"});
constexpr auto kAbbreviations =
    std::to_array<std::string_view>({"e.g", "i.e", "etc", "vs",   "cf", "approx", "resp", "No",  "Nr", "Fig", "Dr",
                                     "Mr",  "Mrs", "Ms",  "Prof", "St", "Inc",    "Ltd",  "Vol", "ex", "incl"});

bool is_white(char c) { return kWhite.find(c) != std::string_view::npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Bytes of the first of `marks` that `text` begins with, 0 without one.
template <class Marks>
std::size_t length_at(std::string_view text, const Marks& marks) {
  for (const std::string_view mark : marks) {
    if (text.starts_with(mark)) return mark.size();
  }
  return 0;
}

// Whether the full stop after `before` (a sentence so far) belongs to its last word.
bool belongs_to_word(std::string_view before) {
  const std::size_t space = before.find_last_of(" \t\r\n(");
  const std::string_view word = space == std::string_view::npos ? before : before.substr(space + 1);
  if (word.empty() || word.back() == '.') return true;
  if (word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z') return true;
  if (word.size() <= 3 && std::all_of(word.begin(), word.end(), is_digit)) return true;
  return std::find(kAbbreviations.begin(), kAbbreviations.end(), word) != kAbbreviations.end();
}

// Bytes of the end of a sentence at `place`, closing marks included; 0 where none ends.
std::size_t end_at(std::string_view text, std::size_t begin, std::size_t place) {
  const bool narrow = text[place] == '.' || text[place] == '!' || text[place] == '?';
  std::size_t end = place + (narrow ? 1 : length_at(text.substr(place), kWideEnds));
  if (end == place) return 0;
  for (;;) {
    const std::string_view rest = text.substr(end);
    const bool again = rest.starts_with('!') || rest.starts_with('?');
    const std::size_t more = again ? 1 : std::max(length_at(rest, kClosing), length_at(rest, kWideEnds));
    if (more == 0) break;
    end += more;
  }
  if (!narrow) return end - place;
  if (end < text.size() && !is_white(text[end])) return 0;
  const std::size_t next = text.find_first_not_of(kWhite, end);
  if (next != std::string_view::npos && text[next] >= 'a' && text[next] <= 'z') return 0;
  if (text[place] == '.' && belongs_to_word(text.substr(begin, place - begin))) return 0;
  return end - place;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhite) - first + 1);
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

std::vector<std::string_view> split_sentences(std::string_view paragraph) {
  std::vector<std::string_view> sentences;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < paragraph.size();) {
    const std::size_t end = end_at(paragraph, begin, i);
    if (end == 0) {
      ++i;
      continue;
    }
    i += end;
    if (const std::string_view sentence = trim(paragraph.substr(begin, i - begin)); !sentence.empty()) {
      sentences.push_back(sentence);
    }
    begin = i;
  }
  if (const std::string_view rest = trim(paragraph.substr(begin)); !rest.empty()) sentences.push_back(rest);
  return sentences;
}

std::vector<SentencePair> split_paragraphs(std::vector<SentencePair> pairs) {
  std::vector<SentencePair> result;
  result.reserve(pairs.size());
  for (SentencePair& pair : pairs) {
    const std::vector<std::string_view> sources = split_sentences(pair.source);
    const std::vector<std::string_view> targets = split_sentences(pair.target);
    if (!in_step(sources, targets)) {
      result.push_back(std::move(pair));
      continue;
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      result.push_back({.source = std::string(sources[i]),
                        .target = std::string(targets[i]),
                        .document = pair.document,
                        .line = pair.line});
    }
  }
  return result;
}

}  // namespace zhuyi::data
