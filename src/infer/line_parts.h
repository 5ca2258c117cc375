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

// Whether the best hypothesis has the placeholders, tags and addresses of its source, none more and none less.
bool keeps_protected(const formats::Model& model, const Part& part);

// Asks of a part that what is protected in it must occur.
void demand_protected(const formats::Model& model, Part& part);

// The part in pieces, in which what is protected stands verbatim.
std::vector<Part> around_protected(const formats::Model& model, const Part& part, const TranslateOptions& options);

// The translation of a line whose parts have been found.
Translation translation_of(const formats::Model& model, const Line& line, const TranslateOptions& options);

}  // namespace zhuyi::infer
