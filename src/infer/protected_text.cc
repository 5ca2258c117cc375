#include "infer/protected_text.h"

#include <algorithm>
#include <array>

#include "text/normalize.h"
#include "text/scripts.h"

namespace zhuyi::infer {
namespace {

constexpr std::size_t kLongestTag = 400;
constexpr std::size_t kLongestName = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

char at(std::string_view text, std::size_t position) { return position < text.size() ? text[position] : '\0'; }

// The first position from `position` on whose character is not one of the kind.
template <class Kind>
std::size_t skip(std::string_view text, std::size_t position, const Kind& kind) {
  while (position < text.size() && kind(text[position])) ++position;
  return position;
}

// Each of the following gives the length of what begins at `position`, or 0.

std::size_t web_address(std::string_view text, std::size_t position) {
  constexpr auto kBeginnings =
      std::to_array<std::string_view>({"https://", "http://", "ftp://", "sftp://", "file://", "mailto:", "www."});
  if (position > 0 && is_word(text[position - 1])) return 0;
  for (const std::string_view beginning : kBeginnings) {
    if (!text.substr(position).starts_with(beginning)) continue;
    const auto kind = [](char c) {
      return c > ' ' && static_cast<unsigned char>(c) < 0x7F && c != '<' && c != '>' && c != '"';
    };
    std::size_t end = skip(text, position, kind);
    const auto trails = [](char c) { return std::string_view(".,;:!?'\")]}").find(c) != std::string_view::npos; };
    while (end > position && trails(text[end - 1])) --end;
    return end > position + beginning.size() ? end - position : 0;
  }
  return 0;
}

std::size_t mail_address(std::string_view text, std::size_t position) {
  const auto local = [](char c) { return is_word(c) || c == '.' || c == '+' || c == '-' || c == '%'; };
  if (!is_word(text[position]) || (position > 0 && local(text[position - 1]))) return 0;
  const std::size_t sign = skip(text, position, local);
  if (at(text, sign) != '@') return 0;
  std::size_t end = skip(text, sign + 1, [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '-'; });
  while (end > sign && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
  const std::size_t dot = text.substr(0, end).rfind('.');
  return dot != std::string_view::npos && dot > sign + 1 && dot + 2 < end ? end - position : 0;
}

// "%", then a name in parentheses or a position, flags (no space, which stands in "50 % of"), width, precision, size.
std::size_t printf_placeholder(std::string_view text, std::size_t position) {
  if (text[position] != '%') return 0;
  std::size_t end = position + 1;
  if (at(text, end) == '%') return 2;
  const std::size_t name = skip(text, end, is_word);
  if (name > end && at(text, name) == '%' && !is_digit(text[end])) return name + 1 - position;  // %PATH%
  if (name >= end + 3 &&
      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(end), text.begin() + static_cast<std::ptrdiff_t>(name),
                  [](char c) { return is_upper(c) || c == '_' || is_digit(c); })) {
    return name - position;  // %PRODUCTNAME
  }
  if (at(text, end) == '(') {
    const std::size_t close = skip(text, end + 1, [](char c) { return is_word(c) || c == '-' || c == '.'; });
    if (at(text, close) != ')') return 0;
    end = close + 1;
  } else if (const std::size_t digits = skip(text, end, is_digit); digits > end && at(text, digits) == '$') {
    end = digits + 1;
  }
  end = skip(text, end, [](char c) { return c == '-' || c == '+' || c == '#' || c == '0' || c == '\''; });
  end = skip(text, end, [](char c) { return is_digit(c) || c == '*'; });
  if (at(text, end) == '.') end = skip(text, end + 1, [](char c) { return is_digit(c) || c == '*'; });
  end = skip(text, end, [](char c) { return std::string_view("hlqjztL").find(c) != std::string_view::npos; });
  const bool conversion =
      end < text.size() && std::string_view("diouxXeEfFgGaAcspn@").find(text[end]) != std::string_view::npos;
  return conversion && !is_word(at(text, end + 1)) ? end + 1 - position : 0;
}

// A short name between an opening and a closing sign, as in "{0}", "${name}", "{{name}}", "$[name]", "$(name)".
std::size_t braced(std::string_view text, std::size_t position) {
  std::size_t begin = position;
  const bool marked = text[begin] == '$' || text[begin] == '#' || text[begin] == '@';
  if (marked) ++begin;
  const char open = at(text, begin);
  const bool round = text[position] == '$' && (open == '[' || open == '(');
  if (open != '{' && !round) return 0;
  const bool twice = open == '{' && at(text, begin + 1) == '{';
  const char close = open == '{' ? '}' : open == '[' ? ']' : ')';
  const std::size_t first = begin + (twice ? 2 : 1);
  const auto kind = [&](char c) {
    return is_word(c) || std::string_view(" .:!,-+#/|%*<>=$").find(c) != std::string_view::npos;
  };
  const std::size_t end = skip(text, first, kind);
  if (end - first > kLongestName || at(text, end) != close || (twice && at(text, end + 1) != close)) return 0;
  const std::string_view name = text.substr(first, end - first);
  if (!twice && (name.starts_with(' ') || name.find(", ") != std::string_view::npos)) return 0;  // prose in braces
  return end + (twice ? 2 : 1) - position;
}

std::size_t tag(std::string_view text, std::size_t position) {
  if (text[position] != '<') return 0;
  const std::size_t name = position + (at(text, position + 1) == '/' ? 2 : 1);
  if (!is_letter(at(text, name))) return 0;
  const std::size_t after = skip(text, name, [](char c) { return is_word(c) || c == '-' || c == ':'; });
  if (const char next = at(text, after); next != '>' && next != '/' && next != ' ') return 0;
  const std::size_t end = text.find_first_of("<>", name);
  if (end == std::string_view::npos || text[end] != '>' || end - position > kLongestTag) return 0;
  return end + 1 - position;
}

std::size_t character_reference(std::string_view text, std::size_t position) {
  if (text[position] != '&') return 0;
  const std::size_t begin = position + (at(text, position + 1) == '#' ? 2 : 1);
  const std::size_t end = skip(text, begin, [](char c) { return is_letter(c) || is_digit(c); });
  const bool long_enough = end >= position + 3 && end > begin;  // "AT&T;" is prose
  return long_enough && end - begin <= kLongestName && at(text, end) == ';' ? end + 1 - position : 0;
}

}  // namespace

std::vector<ProtectedSpan> protected_spans(std::string_view text) {
  std::vector<ProtectedSpan> spans;
  for (std::size_t position = 0; position < text.size();) {
    std::size_t length = 0;
    for (const auto kind : {web_address, mail_address, printf_placeholder, braced, tag, character_reference}) {
      length = std::max(length, kind(text, position));
    }
    if (length > 0) spans.push_back({position, position + length});
    position += std::max<std::size_t>(1, length);
  }
  return spans;
}

std::vector<std::string> texts_of(std::string_view text, std::span<const ProtectedSpan> spans) {
  std::vector<std::string> texts;
  for (const auto& [begin, end] : spans) texts.emplace_back(text.substr(begin, end - begin));
  return texts;
}

std::vector<std::string> protected_texts(std::string_view text) {
  std::vector<std::string> texts = texts_of(text, protected_spans(text));
  std::sort(texts.begin(), texts.end());
  return texts;
}

bool untranslatable(std::string_view text, std::span<const std::string> scripts) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; };
  if (std::any_of(text.begin(), text.end(), control)) return false;
  const auto readable = [&](std::string_view part) {
    return scripts.empty() ? text::has_letter(part) : text::has_letter_of(part, scripts);
  };
  std::size_t position = 0;
  for (const auto& [begin, end] : protected_spans(text)) {
    if (readable(text.substr(position, begin - position))) return false;
    position = end;
  }
  return !readable(text.substr(position));
}

}  // namespace zhuyi::infer
