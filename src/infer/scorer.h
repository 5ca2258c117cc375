#pragma once
// What a search asks of a model: the log-probabilities of the next token, for many hypotheses at once.

#include <cstdint>
#include <span>

#include "base/error.h"
#include "kernels/matrix.h"

namespace zhuyi::infer {

// Stands for the parent of a hypothesis that has none: it is fed the start token, and nothing came before.
inline constexpr std::int64_t kNoParent = -1;

// One live hypothesis and the token that extends it.
struct HypothesisStep {
  std::int64_t sentence = 0;        // which of the scorer's sentences
  std::int64_t parent = kNoParent;  // the row of the previous step that it continues, or kNoParent
  std::int32_t token = 0;           // the token to feed after that row: the start token when there is no parent
};

// A model with the sentences to be translated already read. Step by step it is told which hypotheses live on. A scorer
// keeps per row what its model needs of the past (keys and values) and takes row `parent` of the previous step for a
// row of this one: a row may be continued by several, by one, or by none (then it is forgotten). A sentence that is
// done no longer appears. Rows with kNoParent start from an empty past, so a scorer can be searched again.
class Scorer {
 public:
  virtual ~Scorer() = default;

  // How many tokens there are; ids are [0, vocabulary).
  virtual std::int64_t vocabulary() const = 0;

  // Feeds each live hypothesis its token; row i of this step is live[i]. `live` is not empty and in ascending order of
  // sentence, then of rank.
  virtual void step(std::span<const HypothesisStep> live) = 0;

  // Of rows [begin, end) of the latest step: the natural logarithms of the probabilities of the next token,
  // [end - begin, vocabulary], columns next to each other, each row summing to 1 in probability. Valid until the next
  // call. Asked for some rows at a time, so that not all need memory at once. A row is a function of its own sentence
  // and tokens alone, bit for bit.
  virtual kernels::ConstMatrix<float> log_probabilities(std::int64_t begin, std::int64_t end) = 0;

  // How much row `row` of the latest step looked at each token of its source, [source tokens], summing to 1. Valid
  // until the next step.
  virtual std::span<const float> attention(std::int64_t /*row*/) const {
    base::fail(base::ErrorKind::unsupported, "this scorer has no attention, which a coverage penalty needs");
  }

  // The sentence is done: what is kept of it may go.
  virtual void forget(std::int64_t /*sentence*/) {}
};

}  // namespace zhuyi::infer
