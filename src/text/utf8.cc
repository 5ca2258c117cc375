#include "text/utf8.h"

#include <unicode/utf8.h>

#include "base/error.h"

namespace zhuyi::text {
namespace {

constexpr char32_t kReplacement = 0xfffd;

// Calls visit(code_point, begin, end) for each character; a negative code point marks an ill-formed part.
template <class Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  const auto size = static_cast<std::int64_t>(text.size());
  for (std::int64_t i = 0; i < size;) {
    const std::int64_t begin = i;
    UChar32 character = 0;
    U8_NEXT(bytes, i, size, character);
    visit(character, begin, i);
  }
}

void append(std::string& text, char32_t character) {
  std::uint8_t bytes[U8_MAX_LENGTH];
  std::int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, character);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace

bool valid_utf8(std::string_view text) {
  bool valid = true;
  for_each_character(text, [&](UChar32 character, std::int64_t, std::int64_t) { valid = valid && character >= 0; });
  return valid;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_character(text, [&](UChar32 character, std::int64_t begin, std::int64_t end) {
    if (character < 0) {
      append(result, kReplacement);
    } else {
      result.append(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    }
  });
  return result;
}

std::vector<char32_t> decode_utf8(std::string_view text) {
  std::vector<char32_t> result;
  result.reserve(text.size());
  for_each_character(text, [&](UChar32 character, std::int64_t, std::int64_t) {
    result.push_back(character < 0 ? kReplacement : static_cast<char32_t>(character));
  });
  return result;
}

std::string encode_utf8(std::u32string_view code_points) {
  std::string result;
  result.reserve(code_points.size());
  for (const char32_t character : code_points) {
    base::check(character <= 0x10ffff && (character < 0xd800 || character > 0xdfff),
                "encode_utf8: U+{:04X} is not a character, expected a value up to U+10FFFF that is no surrogate",
                static_cast<std::uint32_t>(character));
    append(result, character);
  }
  return result;
}

std::int64_t count_characters(std::string_view text) {
  std::int64_t count = 0;
  for_each_character(text, [&](UChar32, std::int64_t, std::int64_t) { ++count; });
  return count;
}

}  // namespace zhuyi::text
