#pragma once
// UTF-8: checking it, mending it, and going to code points and back.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zhuyi::text {

// True when `text` is well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF). NUL is well-formed.
bool valid_utf8(std::string_view text);

// `text` with every ill-formed part replaced by U+FFFD, one for each maximal subpart (Unicode Standard, 3.9, "U+FFFD
// Substitution of Maximal Subparts"). Well-formed text comes back unchanged.
std::string replace_invalid_utf8(std::string_view text);

// The code points of `text`; an ill-formed part gives U+FFFD as in replace_invalid_utf8.
std::vector<char32_t> decode_utf8(std::string_view text);

// The UTF-8 of code points. Throws invalid_argument for a surrogate or a value above U+10FFFF.
std::string encode_utf8(std::u32string_view code_points);

// Number of code points of `text`; an ill-formed part counts as replace_invalid_utf8 would write it.
std::int64_t count_characters(std::string_view text);

}  // namespace zhuyi::text
