#pragma once
// What differs between training, validation and decoding travels in one argument: a tape or none, dropout or none.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/tape.h"
#include "base/random.h"
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

  // Puts an operation's output on the tape; only when recording().
  Var record(tensor::Tensor value, Backward backward) { return tape_->record(std::move(value), std::move(backward)); }
  // The gradient of a parameter that the pass itself adds to, before backward; only when recording().
  tensor::Tensor gradient(const Parameter& parameter) { return tape_->gradient(parameter); }

  // Memory for the output of an operation, not initialised: new, or `room` once where that is set and large enough.
  tensor::Tensor output(std::int64_t rows, std::int64_t columns, tensor::DType dtype) {
    tensor::Tensor memory = std::exchange(room, {});
    if (memory.empty() || memory.dtype() != dtype || memory.size() < rows * columns) return {rows, columns, dtype};
    return memory.reshape(memory.size(), 1).slice(0, rows * columns).reshape(rows, columns);
  }

  // The dropout of the next operation that has one: off when this run has none. They are numbered in order of
  // execution, which is fixed by the model.
  kernels::Dropout next_dropout(double rate) {
    if (!dropout_key_ || rate == 0) return {};
    return {rate, base::combine(*dropout_key_, ++dropouts_)};
  }

  // Sentences have few queries each, a beam's hypotheses, say: attention reads keys and values as they lie, since
  // bringing them into the order of a product would cost more than the product. Then nothing can be recorded.
  bool few_queries = false;

  // The next operation's output is put into this memory, which nobody reads any more, instead of new.
  tensor::Tensor room;

  // Attention calls append their weights here, in order of execution, when it is set.
  std::vector<AttentionRecord>* attention_records = nullptr;

 private:
  Tape* tape_ = nullptr;
  std::optional<std::uint64_t> dropout_key_;
  std::uint64_t dropouts_ = 0;
};

}  // namespace zhuyi::autograd
