#pragma once
// Lines too long for the model, cut where a reader would pause.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zhuyi::infer {

// One part of a line, without white space at a cut.
struct LinePart {
  std::string_view text;
  bool inside_word = false;  // it goes on where the part before it ends, without a space or punctuation between
};

// `line` (well-formed UTF-8) in parts for which `fits` holds, in order. Nothing but white space at the cuts is left
// out. A part that does not fit is cut in two near its middle: at the end of a sentence, else after a comma or the like
// or at a space, else between two characters, combining marks kept with theirs where possible. A part of one character
// is never cut.
std::vector<LinePart> cut_line(std::string_view line, const std::function<bool(std::string_view)>& fits);

// The translations of the parts as one line: with a space between two parts, but without one inside a word, beside an
// empty part, and beside Han, Kana or full-width characters.
std::string join_parts(const std::vector<LinePart>& parts, const std::vector<std::string>& translations);

}  // namespace zhuyi::infer
