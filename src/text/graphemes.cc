#include "text/graphemes.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "text/icu.h"
#include "text/utf8.h"

namespace zhuyi::text {
namespace {

bool is_symbol(char32_t character) {
  constexpr char32_t kKeycap = 0x20E3;
  const auto point = static_cast<UChar32>(character);
  constexpr std::uint32_t kKinds = U_GC_S_MASK | U_GC_CO_MASK | U_GC_CN_MASK;
  return (U_GET_GC_MASK(point) & kKinds) != 0 || character == kKeycap ||
         u_hasBinaryProperty(point, UCHAR_EXTENDED_PICTOGRAPHIC) != 0;
}

}  // namespace

std::vector<std::string_view> grapheme_clusters(std::string_view text) {
  base::check(valid_utf8(text), "graphemes: the text is not well-formed UTF-8");
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> breaks(
      icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
  check_icu(status, "graphemes");
  const std::unique_ptr<UText, decltype(&utext_close)> units(
      utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &status), &utext_close);
  check_icu(status, "graphemes");
  breaks->setText(units.get(), status);
  check_icu(status, "graphemes");
  std::vector<std::string_view> clusters;
  auto begin = static_cast<std::size_t>(breaks->first());
  for (std::int32_t next = breaks->next(); next != icu::BreakIterator::DONE; next = breaks->next()) {
    const auto end = static_cast<std::size_t>(next);
    clusters.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return clusters;
}

bool has_symbol(std::string_view text) {
  const std::vector<char32_t> characters = decode_utf8(text);
  return std::any_of(characters.begin(), characters.end(), is_symbol);
}

}  // namespace zhuyi::text
