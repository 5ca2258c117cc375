#pragma once
// Many sentences through the search and through the scorer, in batches that stay full.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "infer/beam_search.h"
#include "infer/transformer_scorer.h"

namespace zhuyi::infer {

// How sentences are put together. None of it changes any answer.
struct BatchLimits {
  std::int64_t sentences = 8;
  std::int64_t source_tokens = 4096;
  // Bytes that the keys and values of all threads together may come to, were every translation as long as it may be;
  // 0: no limit. A sentence that needs more than a thread's share is translated without company.
  std::int64_t memory = 0;
  // Asked now and then, by several threads; when it gives true, the call ends with Error{interrupted}.
  std::function<bool()> interrupted = {};
};

// The best hypotheses of each source (ids that end with eos). Every thread has a batch of its own; when sentences are
// done, the longest that wait take their places. The answer for a sentence depends on nothing but the sentence and what
// is asked of it (`own`, empty or one for each source), bit for bit.
std::vector<std::vector<Hypothesis>> translate_tokens(std::span<const Member> models,
                                                      std::span<const std::vector<std::int32_t>> sources,
                                                      const SearchOptions& options, const BatchLimits& limits = {},
                                                      std::span<const SentenceOptions> own = {});
std::vector<std::vector<Hypothesis>> translate_tokens(const nn::Transformer& model,
                                                      std::span<const std::vector<std::int32_t>> sources,
                                                      const SearchOptions& options, const BatchLimits& limits = {});

// The log-probability of every token of targets[i] given those before it and sources[i] (ids that end with eos, both),
// from the pass that training uses. A pair's numbers depend on nothing but the pair, bit for bit. Throws
// invalid_argument when the numbers of sources and targets differ.
std::vector<std::vector<float>> score_tokens(std::span<const Member> models,
                                             std::span<const std::vector<std::int32_t>> sources,
                                             std::span<const std::vector<std::int32_t>> targets,
                                             const BatchLimits& limits = {});

}  // namespace zhuyi::infer
