#pragma once
// Texts that a translation must have, as tokens.

#include <string>
#include <vector>

#include "infer/search_options.h"
#include "text/tokenizer.h"

namespace zhuyi::infer {

// The ways in which one of the texts may stand in a translation: after a space, and, if it does not begin with a letter
// of a script with spaces, without one. Only ways that the tokenizer has pieces for; none when it has none for any.
// Throws invalid_argument for a blank text.
Phrase ways_of(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts);

// The same of what must be possible. Throws invalid_argument where there is no way.
Phrase ways_to_write(const text::Tokenizer& tokenizer, const std::vector<std::string>& texts);

}  // namespace zhuyi::infer
