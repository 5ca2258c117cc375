#pragma once
// Numbers that a translation must not lose: those with a point, groups, a currency or a per cent sign.

#include <string>
#include <string_view>
#include <vector>

#include "infer/protected_text.h"

namespace zhuyi::infer {

// The spans of such numbers in `text`, in order, with their signs ("€18.10", "-3.14%", "1,000", "5.5 %", "2.1.0"),
// outside protected_spans(). Left out are plain integers; numbers in words ("mp3.5"); lists ("1,2,3"); what a word of
// scale follows ("1.5 million", "3.2万"), for another language may count in other steps; dates ("30.11.2026") and
// times.
std::vector<ProtectedSpan> number_spans(std::string_view text);

// Their texts, each once.
std::vector<std::string> number_texts(std::string_view text);

struct LostNumbers {
  std::vector<std::string> digits;  // there is no such number
  std::vector<std::string> signs;   // the number is there; of a currency there is neither a sign nor a name known here
};

// What `translation` lacks of number_texts(source). A number is there when one with the same digits is, however
// grouped: "1,000" may become "1000" or "1.000", and "3.14" may become "3,14".
LostNumbers lost_numbers(std::string_view source, std::string_view translation);

}  // namespace zhuyi::infer
