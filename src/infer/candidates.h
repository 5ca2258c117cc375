#pragma once
// The best extensions of the live hypotheses of one sentence: rules 1, 6, 7 and 8 of beam_search.h.

#include <cstdint>
#include <vector>

#include "infer/extensions.h"
#include "infer/hypothesis.h"
#include "infer/search_options.h"
#include "kernels/matrix.h"

namespace zhuyi::infer {

// A step of one sentence.
struct StepInput {
  const SearchRules& rules;
  const SentenceOptions& own;
  const std::vector<Live>& live;
  kernels::ConstMatrix<float> rows;  // [live, vocabulary] log-probabilities
  std::int64_t sentence = 0;         // for messages
  std::int64_t step = 1;             // from 1
  std::int64_t min_length = 0;
  std::int64_t max_length = 0;
};

// The first 2 * beam_size in the order of rank. Throws bad_model for values that are no log-probabilities.
std::vector<Candidate> ranked(const StepInput& input);

// What a hypothesis goes on with, and what comes after it whatever is drawn: the rest of a phrase.
struct Draw {
  Candidate candidate;
  std::vector<std::int32_t> rest;
};

// One for each live hypothesis that has any, drawn as Sampling and rule 8 say.
std::vector<Draw> drawn(const StepInput& input);

}  // namespace zhuyi::infer
