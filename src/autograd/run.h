#pragma once
// What differs between training, validation and decoding travels in one argument: a tape or none, dropout or none.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/tape.h"
#include "base/random.h"
#include "kernels/gemm.h"
#include "kernels/vector.h"

namespace zhuyi::autograd {

// The weights of one attention call, as the model saw them: [queries, keys] for each block and head.
struct AttentionRecord {
  std::int64_t heads = 0;
  tensor::Tensor weights;  // one row; layout of kernels::attention
};

// One pass through a model. Inference is a Run with nothing in it.
class Run {
 public:
  Run() = default;
  // Training: operations are recorded. Without a dropout key, dropout is off.
  explicit Run(Tape& tape, std::optional<std::uint64_t> dropout_key = std::nullopt)
      : tape_(&tape), dropout_key_(dropout_key) {}

  bool recording() const { return tape_ != nullptr; }
  // Of the tape: nullptr when nobody wants to know where the time goes.
  Profile* profile() const { return tape_ == nullptr ? nullptr : tape_->profile(); }

  // The output of an operation: on the tape when it is recorded and something flows back, a constant otherwise.
  Var output(tensor::Tensor value, bool differentiable, Backward backward) {
    if (tape_ == nullptr || !differentiable) return Var(std::move(value));
    return tape_->record(std::move(value), std::move(backward));
  }

  // The dropout of the next place that has one: off when this run has none. Places are numbered in order of execution,
  // which is fixed by the model.
  kernels::Dropout next_dropout(double rate) {
    if (!dropout_key_ || rate == 0) return {};
    return {rate, base::combine(*dropout_key_, ++dropout_places_)};
  }

  // What the products with weights are computed in, forward and backward, when they are f32 and nothing is packed.
  kernels::Precision precision = kernels::Precision::f32;

  // Attention calls append their weights here, in order of execution, when it is set.
  std::vector<AttentionRecord>* attention_records = nullptr;

 private:
  Tape* tape_ = nullptr;
  std::optional<std::uint64_t> dropout_key_;
  std::uint64_t dropout_places_ = 0;
};

}  // namespace zhuyi::autograd
