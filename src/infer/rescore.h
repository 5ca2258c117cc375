#pragma once
// Another model's opinion of translations that a search has found.

#include <span>
#include <string>
#include <vector>

#include "infer/translator.h"

namespace zhuyi::infer {

struct RescoreOptions {
  double weight = 1;     // of the other model's score, beside the search's own
  bool reverse = false;  // the other model reads the translation and is asked for the source
};

// The translations with weight * (the other model's log-probability / the length penalty of `search`) added to every
// alternative's score, and each line's alternatives sorted anew (finished ones first). Lines too long to be scored
// whole stay as they are. Throws invalid_argument unless there is one translation for each line, and the weight is a
// number.
std::vector<Translation> rescored(std::vector<Translation> translations, std::span<const std::string> lines,
                                  const Translator& other, const SearchOptions& search, const RescoreOptions& options);

}  // namespace zhuyi::infer
