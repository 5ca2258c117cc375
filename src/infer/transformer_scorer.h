#pragma once
// The Transformer, or several with one vocabulary, as a scorer for the search.

#include <cstdint>
#include <span>
#include <vector>

#include "infer/scorer.h"
#include "nn/transformer.h"

namespace zhuyi::infer {

// A model of an ensemble. The probability of a token is the mean of what the members say, by weight.
struct Member {
  const nn::Transformer* model = nullptr;
  double weight = 1;  // above 0; only the ratio of weights counts
};

// Log-probabilities for sentences that may join and leave between two steps. The models must outlive the scorer.
class TransformerScorer final : public Scorer {
 public:
  // No sentences yet. With `attention` every step keeps the mean of the heads of the last layer, of all members. Throws
  // invalid_argument for no members, weights that are not above 0, or vocabularies that differ.
  explicit TransformerScorer(std::vector<Member> members, bool attention = false);
  // One model and its first sentences.
  TransformerScorer(const nn::Transformer& model, std::span<const std::vector<std::int32_t>> sources);

  // Encodes sources: ids that end with eos, each at least one. They are numbered on from those that joined before, from
  // 0. What was kept of forgotten sentences goes. `allowed` is empty, or has for each source the target tokens, in
  // ascending order, that its probabilities are over; all others are impossible. Either every sentence has some or
  // none.
  void join(std::span<const std::vector<std::int32_t>> sources,
            std::span<const std::vector<std::int32_t>> allowed = {});

  std::int64_t vocabulary() const override { return members_.front().model->config().target_vocabulary; }
  void step(std::span<const HypothesisStep> live) override;
  kernels::ConstMatrix<float> log_probabilities(std::int64_t begin, std::int64_t end) override;
  std::span<const float> attention(std::int64_t row) const override;
  void forget(std::int64_t sentence) override { forgotten_.push_back(sentence); }

 private:
  void keep_attention(std::span<const HypothesisStep> live, const std::vector<autograd::AttentionRecord>& records,
                      double share);

  // What member i says of rows [begin, end) of the latest step, over each sentence's own tokens.
  tensor::Tensor log_probabilities_of_some(std::size_t i, std::int64_t begin, std::int64_t end) const;

  std::vector<Member> members_;  // weights sum to 1
  bool with_attention_;
  std::vector<nn::DecoderState> states_;  // [members]
  std::vector<std::int64_t> forgotten_;
  std::vector<std::vector<nn::OutputRows>> outputs_;  // [sentences][members] what is allowed; empty: all tokens
  std::vector<tensor::Tensor> decoded_;               // [members] the decoder's output of the latest step
  std::vector<std::int64_t> sentences_;               // of its rows
  tensor::Tensor logits_;                             // room for those of some rows
  tensor::Tensor scores_;
  std::vector<std::vector<float>> attention_;  // [rows of the latest step][source tokens]
};

}  // namespace zhuyi::infer
