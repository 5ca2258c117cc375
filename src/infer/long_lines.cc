#include "infer/long_lines.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"
#include "infer/protected_text.h"
#include "text/normalize.h"
#include "text/utf8.h"

namespace zhuyi::infer {
namespace {

constexpr std::size_t kMostRepeats = 16;     // in a row; more are counted, not translated
constexpr std::size_t kLongestRepeated = 8;  // words or characters of a block that is repeated

struct Character {
  std::size_t begin = 0;  // byte
  char32_t code = 0;
};

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> characters;
  std::size_t begin = 0;
  for (const char32_t code : text::decode_utf8(text)) {
    characters.push_back({begin, code});
    begin += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return characters;
}

bool is_space(char32_t c) { return c == ' ' || c == '\t' || c == 0xA0 || c == 0x3000 || (c >= 0x2000 && c <= 0x200A); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_pause(char32_t c) {
  constexpr std::u32string_view kPauses = U"，、；：。！？…—";
  return kPauses.find(c) != std::u32string_view::npos;
}

// Combining marks, joiners, variation selectors and skin tones belong to the character before them.
bool belongs_to_previous(char32_t c) {
  return (c >= 0x300 && c <= 0x36F) || c == 0x200C || c == 0x200D || (c >= 0xFE00 && c <= 0xFE0F) ||
         (c >= 0x20D0 && c <= 0x20FF) || (c >= 0x1F3FB && c <= 0x1F3FF);
}

// Characters of scripts written without spaces: CJK radicals to Yi (Hangul has spaces and lies behind), compatibility
// and full-width forms, and the planes of rare Han characters.
bool is_wide(char32_t c) {
  return (c >= 0x2E80 && c <= 0xABFF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF00 && c <= 0xFFEF) ||
         (c >= 0x20000 && c <= 0x3FFFF);
}

// The position among `positions` nearest to the middle, if it lies in the middle half.
std::optional<std::size_t> central(const std::vector<std::size_t>& positions, std::size_t size) {
  std::optional<std::size_t> best;
  const auto distance = [&](std::size_t position) {
    return position > size / 2 ? position - size / 2 : size / 2 - position;
  };
  for (const std::size_t position : positions) {
    if (position == 0 || position >= size || distance(position) > size / 4) continue;
    if (!best || distance(position) < distance(*best)) best = position;
  }
  return best;
}

struct Cut {
  std::size_t position = 0;  // byte
  bool inside_word = false;
};

std::optional<Cut> best_cut(std::string_view text, const text::SentenceSplitter& splitter) {
  std::vector<std::size_t> sentence_ends;
  for (const std::string_view sentence : splitter.split(text)) {
    sentence_ends.push_back(static_cast<std::size_t>(sentence.data() + sentence.size() - text.data()));
  }
  if (const auto position = central(sentence_ends, text.size())) return Cut{*position, false};
  std::vector<std::size_t> pauses;  // after a pause, before a space
  std::vector<std::size_t> whole;   // between characters with their marks
  std::vector<std::size_t> any;
  const std::vector<Character> characters = characters_of(text);
  for (std::size_t i = 1; i < characters.size(); ++i) {
    const char32_t before = characters[i - 1].code;
    any.push_back(characters[i].begin);
    if (belongs_to_previous(characters[i].code) || before == 0x200D) continue;
    whole.push_back(characters[i].begin);
    if (is_space(characters[i].code) || is_pause(before)) pauses.push_back(characters[i].begin);
  }
  if (const auto position = central(pauses, text.size())) return Cut{*position, false};
  if (const auto position = central(whole, text.size())) return Cut{*position, true};
  if (any.empty()) return std::nullopt;
  const std::size_t middle = text.size() / 2;
  return Cut{*std::min_element(any.begin(), any.end(),
                               [&](std::size_t a, std::size_t b) {
                                 return std::max(a, middle) - std::min(a, middle) <
                                        std::max(b, middle) - std::min(b, middle);
                               }),
             true};
}

std::string_view without_spaces(std::string_view text, bool front) {
  const std::vector<Character> characters = characters_of(text);
  if (front) {
    const auto first =
        std::find_if(characters.begin(), characters.end(), [](const Character& c) { return !is_space(c.code); });
    return first == characters.end() ? std::string_view{} : text.substr(first->begin);
  }
  const auto last =
      std::find_if(characters.rbegin(), characters.rend(), [](const Character& c) { return !is_space(c.code); });
  if (last == characters.rend()) return {};
  return last == characters.rbegin() ? text : text.substr(0, std::prev(last)->begin);
}

struct Cutter {
  const std::function<bool(std::string_view)>& fits;
  const text::SentenceSplitter& splitter;
  std::vector<LinePart> parts = {};

  void cut(std::string_view text, bool inside_word, bool spaced) {
    if (text.empty()) return;
    const std::optional<Cut> best = fits(text) ? std::nullopt : best_cut(text, splitter);
    if (!best) {
      parts.push_back({.text = std::string(text), .inside_word = inside_word, .spaced = spaced});
      return;
    }
    const std::string_view front = without_spaces(text.substr(0, best->position), false);
    const std::string_view rest = without_spaces(text.substr(best->position), true);
    cut(front, inside_word, spaced);
    cut(rest, best->inside_word, front.size() + rest.size() < text.size());
  }
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = text.size();  // of a word that is not at its end
  for (const Character& c : characters_of(text)) {
    if (!is_space(c.code)) {
      begin = std::min(begin, c.begin);
    } else if (begin < c.begin) {
      words.push_back(text.substr(begin, c.begin - begin));
      begin = text.size();
    }
  }
  if (begin < text.size()) words.push_back(text.substr(begin));
  return words;
}

// How many of the items from `first` on repeat the first `length` of them.
template <class Items>
std::size_t repeated_items(const Items& items, std::size_t first, std::size_t length) {
  std::size_t end = std::min(items.size(), first + length);
  while (end < items.size() && items[end] == items[end - length]) ++end;
  return end - first;
}

// Whether a text is Chinese punctuation at the end of a sentence.
bool ends_sentence(std::string_view text) {
  const std::vector<char32_t> characters = text::decode_utf8(text);
  constexpr std::u32string_view kEnds = U"。！？；：，」』”’）";
  return std::all_of(characters.begin(), characters.end(),
                     [&](char32_t c) { return kEnds.find(c) != std::u32string_view::npos; });
}

struct Repeat {
  std::size_t words = 0;
  LinePart part;
};

// A word that is a block of characters over and over.
std::optional<Repeat> repeat_in(std::string_view word) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; };
  if (word.size() <= kMostRepeats || std::any_of(word.begin(), word.end(), control)) return std::nullopt;
  const std::vector<char32_t> characters = text::decode_utf8(word);
  for (std::size_t length = 1; length <= kLongestRepeated; ++length) {
    if (characters.size() <= length * kMostRepeats) break;
    if (repeated_items(characters, 0, length) < characters.size()) continue;
    const bool counted = is_wide(characters.front()) && text::has_letter(word);
    if (!counted) return Repeat{1, {.text = std::string(word), .verbatim = true}};
    if (characters.size() % length != 0) continue;
    const std::string block =
        text::encode_utf8(std::u32string(characters.begin(), characters.begin() + static_cast<std::ptrdiff_t>(length)));
    return Repeat{1, {.text = block, .times = static_cast<std::int64_t>(characters.size() / length)}};
  }
  return std::nullopt;
}

// What is repeated from a word on.
std::optional<Repeat> repeat_at(const std::vector<std::string_view>& words, std::size_t index) {
  for (std::size_t length = 1; length <= kLongestRepeated; ++length) {
    const std::size_t times = repeated_items(words, index, length) / length;
    if (times <= kMostRepeats) continue;
    const std::string_view last = words[index + length - 1];
    const std::string block(words[index].data(),
                            static_cast<std::size_t>(last.data() + last.size() - words[index].data()));
    return Repeat{length * times, {.text = block, .times = static_cast<std::int64_t>(times), .apart = true}};
  }
  return repeat_in(words[index]);
}

// Whether the last character of `before` or the first of `after` is of a script without spaces.
bool touch_wide(std::string_view before, std::string_view after) {
  const std::string_view tail = before.substr(before.size() - std::min<std::size_t>(before.size(), 4));
  return is_wide(text::decode_utf8(tail).back()) || is_wide(text::decode_utf8(after.substr(0, 4)).front());
}

}  // namespace

std::vector<LinePart> split_line(std::string_view line, const text::SentenceSplitter& splitter) {
  const std::vector<std::string_view> sentences = splitter.split(line);
  if (sentences.size() <= 1) return {{.text = std::string(line)}};
  std::vector<LinePart> parts;
  const char* end = line.data();
  for (const std::string_view sentence : sentences) {
    parts.push_back({.text = std::string(sentence), .spaced = sentence.data() > end});
    end = sentence.data() + sentence.size();
  }
  return parts;
}

std::vector<LinePart> cut_line(std::string_view line, const std::function<bool(std::string_view)>& fits,
                               const text::SentenceSplitter& splitter) {
  base::check(text::valid_utf8(line), "cut_line: the line is not well-formed UTF-8");
  Cutter cutter{fits, splitter};
  cutter.cut(line, false, false);
  return std::move(cutter.parts);
}

std::vector<LinePart> cut_around_repeats(std::string_view sentence, const std::function<bool(std::string_view)>& fits) {
  const auto usable = [&](const Repeat& repeat) {
    const std::string& block = repeat.part.text;
    return repeat.part.verbatim || (fits(block) && (protected_spans(block).empty() || untranslatable(block)));
  };
  const std::vector<std::string_view> words = words_of(sentence);
  std::vector<LinePart> parts;
  std::size_t begin = 0;  // first word that is in no part
  const auto add_ordinary = [&](std::size_t end) {
    if (begin == end) return;
    const std::string_view last = words[end - 1];
    parts.push_back({.text = std::string(words[begin].data(),
                                         static_cast<std::size_t>(last.data() + last.size() - words[begin].data())),
                     .spaced = begin > 0});
  };
  for (std::size_t index = 0; index < words.size();) {
    std::optional<Repeat> repeat = repeat_at(words, index);
    if (!repeat || !usable(*repeat)) {
      index += repeat ? repeat->words : 1;
      continue;
    }
    add_ordinary(index);
    repeat->part.spaced = index > 0;
    index += repeat->words;
    begin = index;
    parts.push_back(std::move(repeat->part));
  }
  if (parts.empty()) return {{.text = std::string(sentence)}};
  add_ordinary(words.size());
  return parts;
}

std::vector<LinePart> cut_around(std::string_view text, std::span<const ProtectedSpan> spans) {
  std::vector<LinePart> parts;
  std::size_t position = 0;
  const auto add = [&](std::size_t end, bool verbatim) {
    const std::string_view whole = text.substr(position, end - position);
    const std::string_view trimmed = without_spaces(without_spaces(whole, true), false);
    const bool space_before = (position < text.size() && is_space(static_cast<unsigned char>(text[position]))) ||
                              (position > 0 && is_space(static_cast<unsigned char>(text[position - 1])));
    if (!trimmed.empty()) {
      parts.push_back({.text = std::string(trimmed), .verbatim = verbatim, .spaced = space_before});
    }
    position = end;
  };
  for (const auto& [begin, end] : spans) {
    add(begin, false);
    add(end, true);
  }
  add(text.size(), false);
  return parts;
}

std::vector<LinePart> cut_around_unknown(std::string_view text, std::span<const ProtectedSpan> spans) {
  std::vector<LinePart> parts = cut_around(text, spans);
  if (parts.size() < 3 || parts.back().verbatim || !untranslatable(parts.back().text)) return parts;
  const std::string_view end = parts.back().text;
  const bool closes = end.find_first_not_of(".!?:;,)\"'") == std::string_view::npos || ends_sentence(end);
  std::size_t before = parts.size() - 1;
  while (before > 0 && parts[before - 1].verbatim && !text::has_letter(parts[before - 1].text)) --before;
  if (!closes || parts.back().spaced || before == 0 || before == parts.size() - 1) return parts;
  if (parts[before - 1].verbatim || !text::has_letter(parts[before - 1].text)) return parts;
  parts[before - 1].text += end;
  parts.pop_back();
  return parts;
}

std::string join_parts(const std::vector<LinePart>& parts, const std::vector<std::string>& translations) {
  base::check(parts.size() == translations.size(), "join_parts: {} parts, {} translations", parts.size(),
              translations.size());
  std::string line;
  bool verbatim = false;  // the last part that is not empty
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& next = translations[i];
    if (next.empty()) continue;
    for (std::int64_t time = 0; time < parts[i].times; ++time) {
      const LinePart& part = parts[i];
      const bool as_source = verbatim || part.verbatim;
      const bool spaced = time > 0 ? part.apart : as_source ? part.spaced : !part.inside_word;
      const bool digits = as_source && !line.empty() && is_digit(line.back()) && is_digit(next.front());
      if (!line.empty() && (spaced || digits) && (as_source || !touch_wide(line, next))) line += ' ';
      line += next;
      verbatim = part.verbatim;
    }
  }
  return line;
}

}  // namespace zhuyi::infer
