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

// Adds to every alternative's score weight * (the other model's log-probability / the length penalty of `search`), and
// sorts each line's alternatives anew (finished ones first). Lines too long to be scored whole stay as they are.
void rescore(std::vector<Translation>& translations, std::span<const std::string> lines, const Translator& other,
             const SearchOptions& search, const RescoreOptions& options);

}  // namespace zhuyi::infer
