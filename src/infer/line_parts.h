#pragma once
// A line on its way through the search: its parts with what was found for each, and how they become a translation.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "infer/long_lines.h"
#include "infer/translation.h"

namespace zhuyi::infer {

// What the model reads at once.
struct Part {
  LinePart line;
  std::vector<std::int32_t> tokens;  // ended by eos; none for a verbatim part
  SentenceOptions own;
  std::vector<Hypothesis> found;
  std::vector<Hypothesis> first;  // found before something was demanded
  bool asked = false;             // the caller demands phrases or a prefix of it
};

struct Line {
  std::string text;  // well-formed; empty for a blank line
  std::vector<Part> parts;
  bool cut = false;
};

// Positions that a model has, or a number out of reach.
std::int64_t position_limit(const nn::Config& config);

// The parts of a line, as the options say. Throws invalid_argument for a prefix or a phrase that cannot be.
Line read_line(const formats::Model& model, const std::string& text, const TranslateOptions& options,
               const LineOptions& own);

// What the best hypothesis of a part lacks: a placeholder, tag or address of its source, or one it has too many; a
// number (numbers.h), or the currency of one.
enum class Loss { none, sign, number, protected_text };
Loss loss_of(const formats::Model& model, const Part& part);

// Asks of a part that what is protected in it must occur, and the numbers that it lost; keeps what was found before.
void demand_protected(const formats::Model& model, Part& part, const TranslateOptions& options);

// After the second search: takes back what was found first where that lacks less.
void choose_search(const formats::Model& model, Part& part);

// The part in pieces, in which what is protected stands verbatim.
std::vector<Part> around_protected(const formats::Model& model, const Part& part, const TranslateOptions& options);

// The translation of a line whose parts have been found.
Translation translation_of(const formats::Model& model, const Line& line, const TranslateOptions& options);

}  // namespace zhuyi::infer
