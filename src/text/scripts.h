#pragma once
// The scripts that letters belong to, by their ISO 15924 codes ("Latn", "Hani", "Cyrl").

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zhuyi::text {

// The scripts of at least `least_share` (0 to 1) of the letters of some texts, in alphabetical order. Letters of no
// script of their own (Unicode's Common and Inherited) are not counted.
std::vector<std::string> main_scripts(std::span<const std::string_view> texts, double least_share);

// Whether `text` holds a letter of one of the scripts.
bool has_letter_of(std::string_view text, std::span<const std::string> scripts);

}  // namespace zhuyi::text
