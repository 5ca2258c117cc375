#include "infer/numbers.h"

#include <algorithm>
#include <array>

namespace zhuyi::infer {
namespace {

constexpr auto kCurrencies = std::to_array<std::string_view>({"$", "€", "£", "¥", "￥", "₹", "₩", "₽"});
constexpr auto kPerCent = std::to_array<std::string_view>({"%", "％", "‰"});
constexpr auto kSpaces = std::to_array<std::string_view>({" ", "\u00A0", "\u202F"});

constexpr auto kMinus = std::to_array<std::string_view>({"-", "−"});
constexpr auto kBeforeMinus = std::to_array<std::string_view>({" ", "(", "=", "（", "\u00A0"});

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_separator(char c) { return c == '.' || c == ','; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Digits with single separators between, from `position` on.
std::size_t end_of_number(std::string_view text, std::size_t position) {
  while (position < text.size()) {
    const bool inside = is_separator(text[position]) && position + 1 < text.size() && is_digit(text[position + 1]);
    if (!is_digit(text[position]) && !inside) break;
    ++position;
  }
  return position;
}

// The length of the first of `signs` that stands at `position`, or 0.
template <class Signs>
std::size_t sign_at(std::string_view text, std::size_t position, const Signs& signs) {
  for (const std::string_view sign : signs) {
    if (text.substr(position).starts_with(sign)) return sign.size();
  }
  return 0;
}

template <class Signs>
std::size_t sign_before(std::string_view text, std::size_t position, const Signs& signs) {
  for (const std::string_view sign : signs) {
    if (text.substr(0, position).ends_with(sign)) return sign.size();
  }
  return 0;
}

// "30.11.2026", "30.11.26", "2026.11.30": languages write dates in many ways.
bool is_date(std::string_view number) {
  std::vector<std::size_t> lengths;
  for (std::size_t begin = 0; begin <= number.size();) {
    const std::size_t end = std::min(number.find('.', begin), number.size());
    lengths.push_back(end - begin);
    begin = end + 1;
  }
  if (lengths.size() != 3 || number.find(',') != std::string_view::npos) return false;
  const bool day_first = lengths[0] <= 2 && lengths[1] == 2 && (lengths[2] == 2 || lengths[2] == 4);
  return day_first || (lengths[0] == 4 && lengths[1] <= 2 && lengths[2] <= 2);
}

// "1,2,3" is a list: after a comma come three digits, or it is the only separator.
bool is_list(std::string_view number) {
  const bool alone = std::count_if(number.begin(), number.end(), is_separator) == 1;
  for (std::size_t at = number.find(','); at != std::string_view::npos; at = number.find(',', at + 1)) {
    const std::size_t digits = std::min(number.find_first_of(".,", at + 1), number.size()) - at - 1;
    if (digits != 3 && !(alone && digits == 2)) return true;
  }
  return false;
}

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

// What follows a number, after the other end of a range: of "1.5 to 2 million" and "1.5-2 million" " million".
std::string_view after_range(std::string_view rest) {
  constexpr auto kRanges =
      std::to_array<std::string_view>({"-", "–", "—", "~", "～", "to ", "and ", "or ", "至", "到"});
  std::size_t position = sign_at(rest, 0, kSpaces);
  const std::size_t mark = sign_at(rest, position, kRanges);
  if (mark == 0) return rest;
  position += mark;
  position += sign_at(rest, position, kSpaces);
  position += sign_at(rest, position, kCurrencies);
  const std::size_t end = end_of_number(rest, position);
  return end > position ? rest.substr(end) : rest;
}

// Whether what follows a number multiplies it, or makes it a time of day.
bool is_scale(std::string_view rest) {
  constexpr auto kCharacters =
      std::to_array<std::string_view>({"十", "百", "千", "万", "萬", "亿", "億", "兆", "만", "억", "천", "조"});
  constexpr auto kWords = std::to_array<std::string_view>(
      {"hundred", "thousand", "million", "billion", "trillion", "mill",  "mrd",   "mio", "tausend",
       "mil",     "bn",       "mn",      "tn",      "k",        "m",     "dozen", "h",   "am",
       "pm",      "a.m",      "p.m",     "uhr",     "lakh",     "crore", "тыс",   "млн", "млрд"});
  rest = after_range(rest);
  if (!rest.empty() && rest[0] == '-') rest.remove_prefix(1);
  rest.remove_prefix(sign_at(rest, 0, kSpaces));
  if (sign_at(rest, 0, kCharacters) > 0) return true;
  const std::string word = lower(rest.substr(0, 16));
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view scale) {
    // "millones" and "milliards" are scales, "miles" and "main" are not.
    return word.starts_with(scale) && (scale.size() > 3 || word.size() == scale.size() || !is_word(word[scale.size()]));
  });
}

// A number with its separators of groups left out, a point before its decimals.
std::string plain(std::string_view number) {
  std::string result;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (!is_separator(number[i])) {
      result += number[i];
      continue;
    }
    const std::size_t digits = std::min(number.find_first_of(".,", i + 1), number.size()) - i - 1;
    if (digits != 3) result += '.';
  }
  return result;
}

// Whether a text names or marks a currency.
bool has_currency(std::string_view text) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"元",     "圆",    "圓",    "円",    "镑",    "鎊",    "欧",   "歐",  "卢",  "盧",
       "dollar", "euro",  "pound", "yen",   "yuan",  "usd",   "eur",  "gbp", "cny", "rmb",
       "jpy",    "pfund", "livre", "libra", "dólar", "rupee", "rubl", "рубл"});
  const std::string small = lower(text);
  const auto there = [&](std::string_view name) { return small.find(name) != std::string::npos; };
  return std::any_of(kCurrencies.begin(), kCurrencies.end(), there) || std::any_of(kNames.begin(), kNames.end(), there);
}

// All numbers of a text, plain.
std::vector<std::string> plain_numbers(std::string_view text) {
  std::vector<std::string> numbers;
  for (std::size_t position = 0; position < text.size(); ++position) {
    if (!is_digit(text[position])) continue;
    const std::size_t end = end_of_number(text, position);
    numbers.push_back(plain(text.substr(position, end - position)));
    position = end - 1;
  }
  return numbers;
}

}  // namespace

std::vector<ProtectedSpan> number_spans(std::string_view text) {
  std::vector<ProtectedSpan> spans;
  const std::vector<ProtectedSpan> others = protected_spans(text);
  for (std::size_t position = 0; position < text.size(); ++position) {
    if (!is_digit(text[position])) continue;
    ProtectedSpan span{position, end_of_number(text, position)};
    const std::string_view number = text.substr(position, span.end - position);
    position = span.end - 1;
    if (span.begin > 0 && (is_word(text[span.begin - 1]) || is_separator(text[span.begin - 1]))) continue;
    span.begin -= sign_before(text, span.begin, kCurrencies);
    const std::size_t currency = span.begin;
    const std::size_t space = sign_at(text, span.end, kSpaces);
    bool sign = span.begin + number.size() < span.end;
    if (const std::size_t length = sign_at(text, span.end + space, kPerCent); length > 0) {
      span.end += space + length;
      sign = true;
    } else if (const std::size_t money = sign_at(text, span.end, kCurrencies); money > 0) {
      span.end += money;
      sign = true;
    }
    const std::size_t minus = sign_before(text, currency, kMinus);
    if (currency == minus || sign_before(text, currency - minus, kBeforeMinus) > 0) span.begin -= minus;
    const bool formatted = sign || std::any_of(number.begin(), number.end(), is_separator);
    const bool apart = std::none_of(others.begin(), others.end(), [&](const ProtectedSpan& other) {
      return span.begin < other.end && other.begin < span.end;
    });
    if (formatted && apart && !is_list(number) && !is_date(number) && !is_scale(text.substr(span.end)))
      spans.push_back(span);
  }
  return spans;
}

std::vector<std::string> number_texts(std::string_view text) {
  std::vector<std::string> texts = texts_of(text, number_spans(text));
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

LostNumbers lost_numbers(std::string_view source, std::string_view translation) {
  LostNumbers lost;
  std::vector<std::string> wanted = number_texts(source);
  if (wanted.empty()) return lost;
  const std::vector<std::string> found = plain_numbers(translation);
  const bool currency = has_currency(translation);
  for (std::string& text : wanted) {
    const bool money = std::any_of(kCurrencies.begin(), kCurrencies.end(),
                                   [&](std::string_view sign) { return text.find(sign) != std::string::npos; });
    const std::string digits = plain_numbers(text).front();
    if (std::find(found.begin(), found.end(), digits) == found.end()) {
      lost.digits.push_back(std::move(text));
    } else if (money && !currency) {
      lost.signs.push_back(std::move(text));
    }
  }
  return lost;
}

}  // namespace zhuyi::infer
