#pragma once
// Characters that a model has not learnt to read.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infer/protected_text.h"
#include "text/tokenizer.h"

namespace zhuyi::infer {

// The spans of `text` (well-formed UTF-8), in order and outside protected_spans(), that a model should be spared: whole
// grapheme clusters for which the source vocabulary has no pieces, so that they are spelt in bytes or become the
// unknown piece. These are
//   - symbols (text::has_symbol: emoji, arrows, currency signs), with the figures that they touch ("€18.10");
//   - letters of other scripts than `scripts`, those that the model has learnt to read (none: not known, so that all
//     letters are of its own), and Han outside the basic plane, with the letters beside them that it cannot read
//     either;
//   - where the vocabulary has no bytes: words with an unknown letter; in Han and Kana the character.
// Letters of the model's scripts that are spelt in bytes are left to it, for it has learnt from such, and punctuation.
std::vector<ProtectedSpan> unknown_spans(const text::Tokenizer& tokenizer, std::string_view text,
                                         std::span<const std::string> scripts);

}  // namespace zhuyi::infer
