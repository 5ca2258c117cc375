#include "text/normalize.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "text/icu.h"

namespace zhuyi::text {
namespace {

bool invisible(char32_t character) {
  const auto point = static_cast<UChar32>(character);
  return u_isUWhiteSpace(point) != 0 || u_charType(point) == U_CONTROL_CHAR ||
         u_hasBinaryProperty(point, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) != 0;
}

}  // namespace

std::string nfc(std::string_view text) {
  const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), ascii)) return std::string(text);
  std::string well_formed = replace_invalid_utf8(text);
  base::check(well_formed.size() < static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 4,
              "nfc: the text has {} bytes, expected below 512 MiB: give it line by line", well_formed.size());
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFCInstance(status);
  check_icu(status, "nfc");
  const icu::StringPiece piece(well_formed.data(), static_cast<std::int32_t>(well_formed.size()));
  const bool already = normalizer->isNormalizedUTF8(piece, status) != 0;
  check_icu(status, "nfc");
  if (already) return well_formed;
  std::string result;
  icu::StringByteSink<std::string> sink(&result, piece.length());
  normalizer->normalizeUTF8(0, piece, sink, nullptr, status);
  check_icu(status, "nfc");
  return result;
}

bool blank(std::string_view text) {
  const std::vector<char32_t> characters = decode_utf8(text);
  return std::all_of(characters.begin(), characters.end(), invisible);
}

bool has_letter(std::string_view text) {
  const std::vector<char32_t> characters = decode_utf8(text);
  return std::any_of(characters.begin(), characters.end(),
                     [](char32_t character) { return u_isalpha(static_cast<UChar32>(character)) != 0; });
}

bool has_han(std::string_view text) {
  const std::vector<char32_t> characters = decode_utf8(text);
  return std::any_of(characters.begin(), characters.end(), [](char32_t character) {
    UErrorCode status = U_ZERO_ERROR;
    return uscript_getScript(static_cast<UChar32>(character), &status) == USCRIPT_HAN && U_SUCCESS(status) != 0;
  });
}

}  // namespace zhuyi::text
