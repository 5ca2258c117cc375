#pragma once
// Normalisation that readers cannot see (NFC), and the simple questions asked of a line of text before anything else.

#include <string>
#include <string_view>

#include "text/utf8.h"

namespace zhuyi::text {

// `text` in Normalization Form C (Unicode Standard Annex #15), ill-formed UTF-8 replaced by U+FFFD first. Full-width
// forms, punctuation and spaces stay as they are: only canonically equivalent spellings of the same character are
// unified.
std::string nfc(std::string_view text);

// True when there is nothing to see in `text`: it is empty or has only white space (tab, U+00A0 and U+3000 among them),
// control characters and invisible ones (U+200B, U+FEFF, joiners). An ill-formed part counts as visible.
bool blank(std::string_view text);

// True when `text` holds a letter of any script (general category L), Han among them.
bool has_letter(std::string_view text);

// True when `text` holds at least one character of the Han script.
bool has_han(std::string_view text);

}  // namespace zhuyi::text
