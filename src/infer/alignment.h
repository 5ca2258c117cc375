#pragma once
// Which source token each target token looks at, from the attention of one layer (paper 3.2.3).

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formats/model_file.h"
#include "infer/hypothesis.h"
#include "infer/translation.h"

namespace zhuyi::infer {

// For each target token how much it looks at each source token when it is predicted: [target][source], rows sum to 1.
// From a full pass over ids that end with eos. Throws invalid_argument for a layer or head that the model lacks.
std::vector<std::vector<float>> alignment_of(const formats::Model& model, std::span<const std::int32_t> source,
                                             std::span<const std::int32_t> target, const AlignmentOptions& options);

// For each row the source token with the largest weight (the first of equals): pairs (source, target), ascending.
std::vector<std::pair<std::int64_t, std::int64_t>> hard_alignment(const std::vector<std::vector<float>>& rows);

// For each unknown token of a hypothesis the source word that it looks at most, as it stands in the source text; of
// several in a row that look at the same word the first has it and the others have "". Other tokens have "".
std::vector<std::string> copied_words(const formats::Model& model, const std::string& source_text,
                                      const Hypothesis& hypothesis, const AlignmentOptions& options);

}  // namespace zhuyi::infer
