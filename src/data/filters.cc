#include "data/filters.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/normalize.h"
#include "text/utf8.h"

namespace zhuyi::data {
namespace {

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c <= 0x9f); }

bool has_no_width(char32_t c) { return c == 0x200b || c == 0x2060 || c == 0xfeff; }

// Length with a character of Chinese, Japanese or Korean (U+2E80 on, emoji apart) counted three times.
std::int64_t weighted_length(std::string_view text) {
  std::int64_t length = 0;
  for (const char32_t c : text::decode_utf8(text)) {
    const bool wide = (c >= 0x2e80 && c <= 0xd7ff) || (c >= 0xf900 && c <= 0xffef) || (c >= 0x20000 && c <= 0x3ffff);
    length += wide ? 3 : 1;
  }
  return length;
}

}  // namespace

std::string_view describe(Reason reason) {
  switch (reason) {
    case Reason::bad_text:
      return "bad UTF-8 or control characters";
    case Reason::empty:
      return "empty on one side";
    case Reason::same:
      return "same on both sides";
    case Reason::too_long:
      return "too long";
    case Reason::ratio:
      return "length ratio";
    case Reason::script:
      return "no Han character in the target";
    case Reason::duplicate:
      return "duplicate";
    case Reason::held_out:
      return "source also held out";
  }
  base::fail(base::ErrorKind::internal, "describe: no such reason, {}", static_cast<int>(reason));
}

std::optional<std::string> tidy(std::string_view text) {
  if (!text::valid_utf8(text)) return std::nullopt;
  const std::vector<char32_t> characters = text::decode_utf8(text::nfc(text));
  std::u32string result;
  result.reserve(characters.size());
  bool space = false;
  for (const char32_t c : characters) {
    if (is_white_space(c)) {
      space = true;
    } else if (is_control(c)) {
      return std::nullopt;
    } else if (!has_no_width(c)) {
      if (space && !result.empty()) result += U' ';
      space = false;
      result += c;
    }
  }
  return text::encode_utf8(result);
}

std::optional<Reason> drop_reason(std::string_view source, std::string_view target, const FilterOptions& options) {
  if (text::blank(source) || text::blank(target)) return Reason::empty;
  if (source == target) return Reason::same;
  if (std::max(text::count_characters(source), text::count_characters(target)) > options.max_length) {
    return Reason::too_long;
  }
  if (options.target_script == Script::han && !text::has_han(target)) return Reason::script;
  const auto [shorter, longer] = std::minmax({weighted_length(source), weighted_length(target)});
  if (static_cast<double>(longer) > options.max_ratio * static_cast<double>(shorter) + 20) return Reason::ratio;
  return std::nullopt;
}

PairFilter::PairFilter(const FilterOptions& options) : options_(options) {
  base::check(options.max_length >= 1, "the greatest length must be at least 1 character, not {}", options.max_length);
  base::check(options.max_ratio >= 1, "the greatest length ratio must be at least 1, not {}", options.max_ratio);
}

std::optional<Reason> PairFilter::judge(SentencePair& pair) {
  auto source = tidy(pair.source);
  auto target = tidy(pair.target);
  auto document = tidy(pair.document);
  if (!source || !target || !document) return Reason::bad_text;
  pair.source = std::move(*source);
  pair.target = std::move(*target);
  pair.document = std::move(*document);
  if (const auto reason = drop_reason(pair.source, pair.target, options_)) return reason;
  // Tidied texts have no tabs.
  if (!seen_.insert(pair.source + '\t' + pair.target).second) return Reason::duplicate;
  return std::nullopt;
}

std::vector<SentencePair> PairFilter::keep(std::vector<SentencePair> pairs) {
  std::erase_if(pairs, [&](SentencePair& pair) {
    const auto reason = judge(pair);
    if (reason) ++dropped_[static_cast<std::size_t>(*reason)];
    return reason.has_value();
  });
  return pairs;
}

bool looks_swapped(const std::vector<SentencePair>& pairs) {
  const auto swapped = std::count_if(pairs.begin(), pairs.end(), [](const SentencePair& pair) {
    return text::has_han(pair.source) && !text::has_han(pair.target);
  });
  return 2 * swapped > static_cast<std::int64_t>(pairs.size());
}

}  // namespace zhuyi::data
