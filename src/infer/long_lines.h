#pragma once
// Lines as parts that the model reads one by one: sentences, and what is too long cut where a reader would pause.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infer/protected_text.h"
#include "text/sentences.h"

namespace zhuyi::infer {

// One part of a line, without white space at its ends unless it is the whole line.
struct LinePart {
  std::string text;
  bool inside_word = false;  // it goes on where the part before it ends, without a space or punctuation between
  bool verbatim = false;     // stands in the translation as it is
  bool spaced = false;       // there is a space before it; asked beside a verbatim part
  std::int64_t times = 1;    // it stands so often in a row,
  bool apart = false;        //   with spaces between
};

// The sentences of `line`, one part each; a line of one sentence as it is.
std::vector<LinePart> split_line(std::string_view line, const text::SentenceSplitter& splitter);

// `line` (well-formed UTF-8) in parts for which `fits` holds, in order. Nothing but white space at the cuts is left
// out. A part that does not fit is cut in two near its middle: at the end of a sentence, else after a comma or the like
// or at a space, else between two characters, combining marks kept with theirs where possible. A part of one character
// is never cut.
std::vector<LinePart> cut_line(std::string_view line, const std::function<bool(std::string_view)>& fits,
                               const text::SentenceSplitter& splitter = text::SentenceSplitter());

// `sentence` cut around what stands in it more than 16 times in a row, because no model has learnt to count: a block of
// at most 8 words becomes one part with its `times`; a word that is a block of at most 8 characters over and over is
// verbatim, or, in a script without spaces, likewise a part with its times. Blocks for which `fits` does not hold, or
// that are to be translated and hold something protected, are left.
std::vector<LinePart> cut_around_repeats(std::string_view sentence, const std::function<bool(std::string_view)>& fits);

// `text` cut around spans of it (in order): these are verbatim, and what lies between is to be translated.
std::vector<LinePart> cut_around(std::string_view text, std::span<const ProtectedSpan> spans);

// The same, around symbols and words that a model cannot read. What ends the sentence ("." after an emoji) goes with
// the text before the symbols, so that the model reads a whole sentence.
std::vector<LinePart> cut_around_unknown(std::string_view text, std::span<const ProtectedSpan> spans);

// The translations of the parts, as often as they stand, as one line: with a space between two parts, but without one
// inside a word, beside an empty part, and beside Han, Kana or full-width characters; beside a verbatim part, if there
// is one in the source, and between two digits.
std::string join_parts(const std::vector<LinePart>& parts, const std::vector<std::string>& translations);

}  // namespace zhuyi::infer
