#pragma once
// The Transformer as a scorer of hypotheses, and beam search with it over many sentences at once.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "infer/beam_search.h"
#include "infer/scorer.h"
#include "nn/transformer.h"

namespace zhuyi::infer {

// Log-probabilities of a model for some sentences. The model must outlive the scorer.
class TransformerScorer final : public Scorer {
 public:
  // Encodes the sources: ids that end with eos, each at least one.
  TransformerScorer(const nn::Transformer& model, std::span<const std::vector<std::int32_t>> sources);

  std::int64_t vocabulary() const override { return model_.config().target_vocabulary; }
  kernels::ConstMatrix<float> step(std::span<const HypothesisStep> live) override;

 private:
  const nn::Transformer& model_;
  nn::DecoderState state_;
  tensor::Tensor logits_;
};

// How sentences are put together for the search. Neither changes any answer.
struct BatchLimits {
  std::int64_t sentences = 32;
  std::int64_t source_tokens = 4096;
  // Asked before each batch; when it gives true, the call ends with Error{interrupted}.
  std::function<bool()> interrupted = {};
};

// The best hypotheses of each source (ids that end with eos). Sentences of like length share a batch, batches run in
// parallel; the answer for a sentence depends on nothing but the sentence and the options, bit for bit.
std::vector<std::vector<Hypothesis>> translate_tokens(const nn::Transformer& model,
                                                      std::span<const std::vector<std::int32_t>> sources,
                                                      const SearchOptions& options, const BatchLimits& limits = {});

// The log-probability of every token of targets[i] given those before it and sources[i] (ids that end with eos, both),
// from the pass that training uses. A pair's numbers depend on nothing but the pair, bit for bit. Throws
// invalid_argument when the numbers of sources and targets differ.
std::vector<std::vector<float>> score_tokens(const nn::Transformer& model,
                                             std::span<const std::vector<std::int32_t>> sources,
                                             std::span<const std::vector<std::int32_t>> targets,
                                             const BatchLimits& limits = {});

}  // namespace zhuyi::infer
