#include "data/accelerators.h"

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace zhuyi::data {
namespace {

constexpr std::string_view kMarks = "_&~";

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_lower(c) || is_upper(c) || is_digit(c); }
char upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }
char at(std::string_view text, std::size_t position) { return position < text.size() ? text[position] : '\0'; }

// "&amp;", "&#39;": the ampersand of an entity.
bool is_entity(std::string_view text, std::size_t position) {
  std::size_t end = position + 1;
  if (at(text, end) == '#') ++end;
  while (is_word(at(text, end))) ++end;
  return at(text, end) == ';' && end > position + 1;
}

// Places where `mark` stands alone before a letter or digit.
std::vector<std::size_t> candidates(std::string_view text, char mark) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != mark) continue;
    if (at(text, i + 1) == mark) {
      ++i;
    } else if (is_word(at(text, i + 1)) && !(mark == '&' && is_entity(text, i))) {
      positions.push_back(i);
    }
  }
  return positions;
}

bool starts_word(std::string_view text, std::size_t position) {
  return position == 0 || text[position - 1] == ' ' || text[position - 1] == '>' || text[position - 1] == '(' ||
         text[position - 1] == '"';
}

// A mark and where it stands.
struct Mark {
  char mark = '\0';
  std::size_t position = 0;
};

// An accelerator in parentheses, with the spaces before it.
struct Parenthesised {
  std::size_t begin = 0;
  std::size_t end = 0;
  char mark = '\0';
  char letter = '\0';
};

std::optional<Parenthesised> find_parenthesised(std::string_view text) {
  constexpr std::string_view kWideOpen = "\uff08";
  constexpr std::string_view kWideClose = "\uff09";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool wide = text.substr(i).starts_with(kWideOpen);
    if (text[i] != '(' && !wide) continue;
    const std::size_t inside = i + (wide ? kWideOpen.size() : 1);
    const char mark = at(text, inside);
    const char letter = at(text, inside + 1);
    if (kMarks.find(mark) == std::string_view::npos || letter <= ' ' || letter > '~') continue;
    std::size_t end = inside + 2;
    if (at(text, end) == ')') {
      ++end;
    } else if (text.substr(end).starts_with(kWideClose)) {
      end += kWideClose.size();
    } else {
      continue;
    }
    std::size_t begin = i;
    while (begin > 0 && text[begin - 1] == ' ') --begin;
    return Parenthesised{.begin = begin, .end = end, .mark = mark, .letter = letter};
  }
  return std::nullopt;
}

// The source's own mark when the target shows that the text has an accelerator.
std::optional<Mark> source_mark(std::string_view source, char letter) {
  std::optional<Mark> found;
  std::size_t count = 0;
  for (const char mark : kMarks) {
    for (const std::size_t position : candidates(source, mark)) {
      if (upper(source[position + 1]) == upper(letter)) return Mark{.mark = mark, .position = position};
      found = Mark{.mark = mark, .position = position};
      ++count;
    }
  }
  return count == 1 ? found : std::nullopt;
}

std::string without_mark(std::string_view text, const Mark& found) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i == found.position) continue;
    result += text[i];
    if (text[i] == found.mark && at(text, i + 1) == found.mark) ++i;
  }
  return result;
}

// Marks at the start of words: on both sides, or on the source alone.
std::optional<TextPair> without_plain_mark(const TextPair& pair, char mark) {
  const std::vector<std::size_t> positions = candidates(pair.source, mark);
  if (positions.size() != 1 || !starts_word(pair.source, positions[0])) return std::nullopt;
  const std::size_t position = positions[0];
  // "~a" is a placeholder of Scheme, and "~5" means about five.
  if (mark == '~' && !(is_upper(at(pair.source, position + 1)) && is_word(at(pair.source, position + 2))))
    return std::nullopt;
  if (pair.target.find(mark) == std::string::npos) {
    if (pair.source.size() > 60) return std::nullopt;
    return TextPair{.source = without_mark(pair.source, {mark, position}), .target = pair.target};
  }
  // "_start" on both sides is an identifier, "_Basic" is a name with an accelerator.
  if (is_lower(at(pair.source, position + 1)) && mark != '&') return std::nullopt;
  const std::vector<std::size_t> others = candidates(pair.target, mark);
  if (others.size() != 1) return std::nullopt;
  return TextPair{.source = without_mark(pair.source, {mark, position}),
                  .target = without_mark(pair.target, {mark, others[0]})};
}

}  // namespace

TextPair without_accelerators(TextPair pair) {
  if (pair.source.find_first_of(kMarks) == std::string::npos &&
      pair.target.find_first_of(kMarks) == std::string::npos) {
    return pair;
  }
  while (const auto found = find_parenthesised(pair.source)) pair.source.erase(found->begin, found->end - found->begin);
  // A menu path ("/_File/_Open") has several.
  bool shown = false;
  while (const auto found = find_parenthesised(pair.target)) {
    shown = true;
    pair.target.erase(found->begin, found->end - found->begin);
    if (const auto mark = source_mark(pair.source, found->letter)) pair.source = without_mark(pair.source, *mark);
  }
  if (shown) return pair;
  for (const char mark : kMarks) {
    if (auto plain = without_plain_mark(pair, mark)) return *plain;
  }
  return pair;
}

}  // namespace zhuyi::data
