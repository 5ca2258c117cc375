#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "data/html.h"
#include "text/utf8.h"

namespace zhuyi::data {
namespace {

struct Entity {
  std::string_view name;
  char32_t character;
};

// The named entities that pages use in running text (HTML 4.01, section 24), sorted by name.
constexpr auto kEntities = std::to_array<Entity>({
    {"Alpha", 0x391},   {"Beta", 0x392},    {"Delta", 0x394},  {"Gamma", 0x393},   {"Omega", 0x3a9}, {"Pi", 0x3a0},
    {"Sigma", 0x3a3},   {"aacute", 0xe1},   {"agrave", 0xe0},  {"alpha", 0x3b1},   {"amp", 0x26},    {"apos", 0x27},
    {"auml", 0xe4},     {"beta", 0x3b2},    {"bull", 0x2022},  {"ccedil", 0xe7},   {"cent", 0xa2},   {"copy", 0xa9},
    {"dagger", 0x2020}, {"darr", 0x2193},   {"deg", 0xb0},     {"delta", 0x3b4},   {"divide", 0xf7}, {"eacute", 0xe9},
    {"egrave", 0xe8},   {"emsp", 0x2003},   {"ensp", 0x2002},  {"epsilon", 0x3b5}, {"euro", 0x20ac}, {"frac12", 0xbd},
    {"frac14", 0xbc},   {"gamma", 0x3b3},   {"ge", 0x2265},    {"gt", 0x3e},       {"harr", 0x2194}, {"hellip", 0x2026},
    {"iexcl", 0xa1},    {"infin", 0x221e},  {"iquest", 0xbf},  {"lambda", 0x3bb},  {"laquo", 0xab},  {"larr", 0x2190},
    {"ldquo", 0x201c},  {"le", 0x2264},     {"lrm", 0x200e},   {"lsquo", 0x2018},  {"lt", 0x3c},     {"mdash", 0x2014},
    {"micro", 0xb5},    {"middot", 0xb7},   {"minus", 0x2212}, {"mu", 0x3bc},      {"nbsp", 0xa0},   {"ndash", 0x2013},
    {"ne", 0x2260},     {"ntilde", 0xf1},   {"omega", 0x3c9},  {"ouml", 0xf6},     {"para", 0xb6},   {"permil", 0x2030},
    {"pi", 0x3c0},      {"plusmn", 0xb1},   {"pound", 0xa3},   {"prime", 0x2032},  {"quot", 0x22},   {"radic", 0x221a},
    {"raquo", 0xbb},    {"rarr", 0x2192},   {"rdquo", 0x201d}, {"reg", 0xae},      {"rlm", 0x200f},  {"rsquo", 0x2019},
    {"sect", 0xa7},     {"shy", 0xad},      {"sigma", 0x3c3},  {"sum", 0x2211},    {"sup2", 0xb2},   {"sup3", 0xb3},
    {"szlig", 0xdf},    {"thinsp", 0x2009}, {"times", 0xd7},   {"trade", 0x2122},  {"uarr", 0x2191}, {"uuml", 0xfc},
    {"yen", 0xa5},      {"zwj", 0x200d},    {"zwnj", 0x200c},
});
static_assert(std::is_sorted(kEntities.begin(), kEntities.end(),
                             [](const Entity& a, const Entity& b) { return a.name < b.name; }));

std::optional<std::uint32_t> digit_of(char c, std::uint32_t base) {
  std::uint32_t value = 99;
  if (c >= '0' && c <= '9') value = static_cast<std::uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') value = static_cast<std::uint32_t>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') value = static_cast<std::uint32_t>(c - 'A') + 10;
  return value < base ? std::optional(value) : std::nullopt;
}

// The character of "#8230" or "#x2026"; none where it is no number or no character.
std::optional<char32_t> numeric_entity(std::string_view name) {
  name.remove_prefix(1);
  const bool hexadecimal = name.starts_with('x') || name.starts_with('X');
  if (hexadecimal) name.remove_prefix(1);
  if (name.empty()) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : name) {
    const auto digit = digit_of(c, hexadecimal ? 16 : 10);
    if (!digit || value > 0x110000) return std::nullopt;
    value = value * (hexadecimal ? 16 : 10) + *digit;
  }
  const bool character = value > 0 && value <= 0x10ffff && !(value >= 0xd800 && value <= 0xdfff);
  return character ? std::optional(static_cast<char32_t>(value)) : std::nullopt;
}

std::optional<char32_t> entity(std::string_view name) {
  if (name.starts_with('#')) return numeric_entity(name);
  const auto* found = std::lower_bound(kEntities.begin(), kEntities.end(), name,
                                       [](const Entity& a, std::string_view b) { return a.name < b; });
  return found != kEntities.end() && found->name == name ? std::optional(found->character) : std::nullopt;
}

}  // namespace

std::string decode_entities(std::string_view text) {
  constexpr std::size_t kLongest = 10;
  std::string result;
  while (!text.empty()) {
    const std::size_t start = text.find('&');
    result += text.substr(0, start);
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::size_t end = text.substr(0, kLongest + 2).find(';');
    const auto character = end == std::string_view::npos ? std::nullopt : entity(text.substr(1, end - 1));
    if (character) {
      result += text::encode_utf8(std::u32string_view(&*character, 1));
      text.remove_prefix(end + 1);
    } else {
      result += '&';
      text.remove_prefix(1);
    }
  }
  return result;
}

}  // namespace zhuyi::data
