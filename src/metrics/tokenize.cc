#include "metrics/tokenize.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/error.h"
#include "text/utf8.h"

namespace zhuyi::metrics {
namespace {

struct Named {
  Tokenization tokenization;
  std::string_view name;
};

constexpr std::array<Named, 5> kNames = {{{Tokenization::mteval_13a, "13a"},
                                          {Tokenization::zh, "zh"},
                                          {Tokenization::character, "char"},
                                          {Tokenization::international, "intl"},
                                          {Tokenization::none, "none"}}};

struct Range {
  char32_t first;
  char32_t last;
};

// What "zh" sets apart. sacreBLEU's table also names two planes above U+FFFF, but writes them with four-digit escapes,
// so that they read as the text ranges "\u2000" "0" to "\u2a6d" "6" and "\u2f80" "0" to "\u2fa1" "d". The effect is
// part of the published scores and is kept: U+2001 to U+2A6D (dashes, curly quotes, arrows, mathematics) are set apart,
// and Han characters above U+FFFF are not.
constexpr std::array<Range, 21> kChinese = {{
    {0x2001, 0x2a6d}, {0x2e80, 0x2eff}, {0x2f00, 0x2fdf}, {0x2ff0, 0x2fff}, {0x3000, 0x303f}, {0x3100, 0x312f},
    {0x31a0, 0x31bf}, {0x31c0, 0x31ef}, {0x3200, 0x32ff}, {0x3300, 0x33ff}, {0x3400, 0x4db5}, {0x4e00, 0x9fa5},
    {0x9fa6, 0x9fbb}, {0xf900, 0xfa2d}, {0xfa30, 0xfa6a}, {0xfa70, 0xfad9}, {0xfe10, 0xfe1f}, {0xfe30, 0xfe4f},
    {0xff00, 0xffef}, {0x2600, 0x26ff}, {0x2700, 0x27bf},
}};

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_period_or_comma(char32_t c) { return c == '.' || c == ','; }

// The ASCII marks that 13a sets apart everywhere: all but the apostrophe, comma, hyphen and period.
bool is_mark(char32_t c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

bool is_chinese(char32_t c) {
  return std::any_of(kChinese.begin(), kChinese.end(),
                     [c](const Range& range) { return c >= range.first && c <= range.last; });
}

bool has_category(char32_t c, std::uint32_t mask) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0; }
bool is_number(char32_t c) { return has_category(c, U_GC_N_MASK); }
bool is_punctuation(char32_t c) { return has_category(c, U_GC_P_MASK); }
bool is_symbol(char32_t c) { return has_category(c, U_GC_S_MASK); }

// `text` with a space on both sides of each character of the class.
template <class Class>
std::u32string set_apart(std::u32string_view text, const Class& belongs) {
  std::u32string result;
  result.reserve(text.size() * 3);
  for (const char32_t c : text) {
    if (belongs(c)) {
      result += {U' ', c, U' '};
    } else {
      result += c;
    }
  }
  return result;
}

// Which of a pair of neighbours is the mark that gets a space on both sides.
enum class Mark { first, second };

// `text` with the mark of each pair (first, second) of neighbours set apart. As with a regular expression, pairs are
// found from the left and do not overlap: of three marks in a row the middle one may stay where it is.
template <class First, class Second>
std::u32string set_apart_in_pairs(std::u32string_view text, Mark mark, const First& first, const Second& second) {
  std::u32string result;
  result.reserve(text.size() * 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      result += text[i];
      continue;
    }
    if (mark == Mark::first) {
      result += {U' ', text[i], U' ', text[i + 1]};
    } else {
      result += {text[i], U' ', text[i + 1], U' '};
    }
    ++i;
  }
  return result;
}

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to) {
  std::u32string result;
  result.reserve(text.size());
  while (true) {
    const std::size_t found = text.find(from);
    result += text.substr(0, found);
    if (found == std::u32string_view::npos) return result;
    result += to;
    text.remove_prefix(found + from.size());
  }
}

// The steps that 13a and zh share: marks apart, then periods and commas outside numbers, then a hyphen behind a digit.
std::u32string separate_western(std::u32string_view text) {
  const auto not_digit = [](char32_t c) { return !is_digit(c); };
  const auto is_hyphen = [](char32_t c) { return c == '-'; };
  std::u32string result = set_apart(text, is_mark);
  result = set_apart_in_pairs(result, Mark::second, not_digit, is_period_or_comma);
  result = set_apart_in_pairs(result, Mark::first, is_period_or_comma, not_digit);
  return set_apart_in_pairs(result, Mark::second, is_digit, is_hyphen);
}

std::u32string separate_13a(std::u32string text) {
  text = replace_all(text, U"<skipped>", U"");
  text = replace_all(text, U"-\n", U"");
  text = replace_all(text, U"\n", U" ");
  // The order counts: "&amp;lt;" ends as "<", but "&amp;quot;" as "&quot;".
  text = replace_all(text, U"&quot;", U"\"");
  text = replace_all(text, U"&amp;", U"&");
  text = replace_all(text, U"&lt;", U"<");
  text = replace_all(text, U"&gt;", U">");
  // With a space at each end, a mark that begins or ends the sentence has a neighbour too.
  return separate_western(U' ' + text + U' ');
}

std::u32string separate_international(std::u32string_view text) {
  const auto not_number = [](char32_t c) { return !is_number(c); };
  std::u32string result = set_apart_in_pairs(text, Mark::second, not_number, is_punctuation);
  result = set_apart_in_pairs(result, Mark::first, is_punctuation, not_number);
  return set_apart(result, is_symbol);
}

std::u32string_view strip_left(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

std::u32string_view strip_right(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// The sentence with spaces between its tokens.
std::u32string separate(std::u32string_view sentence, Tokenization tokenization) {
  const std::u32string_view text = strip_right(sentence);
  switch (tokenization) {
    case Tokenization::mteval_13a:
      return separate_13a(std::u32string(text));
    case Tokenization::zh:
      return separate_western(set_apart(strip_left(text), is_chinese));
    case Tokenization::character:
      return set_apart(text, [](char32_t) { return true; });
    case Tokenization::international:
      return separate_international(text);
    case Tokenization::none:
      break;
  }
  return std::u32string(text);
}

}  // namespace

std::string_view tokenization_name(Tokenization tokenization) {
  const auto* const found = std::find_if(kNames.begin(), kNames.end(),
                                         [&](const Named& named) { return named.tokenization == tokenization; });
  base::check(found != kNames.end(), "tokenization_name: {} is none of the tokenisations",
              static_cast<int>(tokenization));
  return found->name;
}

Tokenization tokenization_named(std::string_view name) {
  for (const Named& named : kNames) {
    if (named.name == name) return named.tokenization;
  }
  base::fail(base::ErrorKind::invalid_argument, "unknown tokenisation '{}', expected 13a, zh, char, intl or none",
             name);
}

std::vector<std::string> tokenize(std::string_view sentence, Tokenization tokenization) {
  const std::vector<char32_t> characters = text::decode_utf8(sentence);
  const std::u32string separated = separate({characters.data(), characters.size()}, tokenization);
  std::vector<std::string> tokens;
  for (const std::u32string_view token : split_at_spaces(separated)) tokens.push_back(text::encode_utf8(token));
  return tokens;
}

Tokenization default_tokenization(std::span<const std::string> references) {
  std::int64_t han = 0;
  std::int64_t runs = 0;
  for (const std::string& reference : references) {
    bool in_run = false;
    for (const char32_t character : text::decode_utf8(reference)) {
      const auto c = static_cast<UChar32>(character);
      UErrorCode status = U_ZERO_ERROR;
      const bool is_han = uscript_getScript(c, &status) == USCRIPT_HAN;
      // Combining marks are part of a word (Devanagari's vowels, for example).
      const bool in_word = !is_han && (U_GET_GC_MASK(c) & (U_GC_L_MASK | U_GC_M_MASK)) != 0;
      han += is_han ? 1 : 0;
      runs += in_word && !in_run ? 1 : 0;
      in_run = in_word;
    }
  }
  return han > runs ? Tokenization::zh : Tokenization::mteval_13a;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

std::vector<std::u32string_view> split_at_spaces(std::u32string_view text) {
  std::vector<std::u32string_view> parts;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    while (i < text.size() && !is_space(text[i])) ++i;
    if (i > begin) parts.push_back(text.substr(begin, i - begin));
    while (i < text.size() && is_space(text[i])) ++i;
  }
  return parts;
}

}  // namespace zhuyi::metrics
