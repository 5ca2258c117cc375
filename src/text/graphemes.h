#pragma once
// What readers take for one character: grapheme clusters, and which of them are symbols.

#include <string_view>
#include <vector>

namespace zhuyi::text {

// The extended grapheme clusters (Unicode Standard Annex #29) of `text` (well-formed UTF-8), in order; together they
// are the text. An emoji with its joiners, selectors and skin tones is one, and so is a letter with its marks.
std::vector<std::string_view> grapheme_clusters(std::string_view text);

// Whether `text` holds a symbol: general category S (emoji, currency, arrows, mathematics), private use or unassigned,
// an emoji that Unicode counts as punctuation, or a keycap.
bool has_symbol(std::string_view text);

}  // namespace zhuyi::text
