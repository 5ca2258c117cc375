#pragma once
// Other ways to cut a text into the same vocabulary's pieces, drawn at random: subword regularisation and BPE dropout.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "text/tokenizer.h"

namespace zhuyi::text {

// Draws segmentations. Immutable, cheap to copy, and safe to use from several threads.
//
// Unigram models (Kudo, 2018): a segmentation into pieces with log-probabilities s is drawn with a probability
// proportional to exp(amount * sum of s), over all segmentations; 0 would make all of them alike, large amounts give
// the usual one.
// BPE models (Provilkov et al., 2020): `amount` is the probability with which each merge is left out each time it could
// be made.
class SubwordSampler {
 public:
  // Throws invalid_argument for an amount that is not positive, or a BPE dropout above 1.
  SubwordSampler(const Tokenizer& tokenizer, double amount);

  // Another segmentation of the text that `ids` stand for; it decodes to the same text. Bytes, unknown pieces and those
  // that a user defined stay as they are. A function of the ids and the state of `random`.
  std::vector<std::int32_t> sample(std::span<const std::int32_t> ids, base::Random& random) const;

 private:
  struct Vocabulary;
  std::shared_ptr<const Vocabulary> vocabulary_;
  double amount_;
};

// Whether the tokenizer was made by BPE.
bool is_bpe(const Tokenizer& tokenizer);

}  // namespace zhuyi::text
