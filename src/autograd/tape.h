#pragma once
// Reverse-mode differentiation: a tape remembers what each operation must do to pass gradients back.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

#include "autograd/parameter.h"
#include "autograd/profile.h"
#include "tensor/tensor.h"

namespace zhuyi::autograd {

// A value in a computation. Without a slot on a tape it is a constant: nothing flows back to it.
class Var {
 public:
  Var() = default;
  explicit Var(tensor::Tensor value, std::int64_t slot = -1) : value_(std::move(value)), slot_(slot) {}

  const tensor::Tensor& value() const { return value_; }
  std::int64_t rows() const { return value_.rows(); }
  std::int64_t columns() const { return value_.columns(); }
  bool tracked() const { return slot_ >= 0; }
  std::int64_t slot() const { return slot_; }

 private:
  tensor::Tensor value_;
  std::int64_t slot_ = -1;
};

class Tape;

// Adds the gradients of an operation's inputs, given that of its output.
using Backward = std::function<void(tensor::Tensor output_gradient, Tape& tape)>;

// Records the operations of one forward pass; backward() runs them in reverse, once, and frees what they kept on the
// way.
class Tape {
 public:
  // Parameter gradients are added to `gradients`, which must outlive the tape. Operations that are recorded here tell
  // `profile`, when there is one, how long they take.
  explicit Tape(Gradients& gradients, Profile* profile = nullptr) : gradients_(gradients), profile_(profile) {}

  Profile* profile() const { return profile_; }

  // An input whose gradient is wanted (tests).
  Var variable(tensor::Tensor value);
  // The output of an operation.
  Var record(tensor::Tensor value, Backward backward);

  // Where the gradient of `var` is added up: zeros at first. Throws internal for a constant.
  tensor::Tensor gradient(const Var& var);
  tensor::Tensor gradient(const Parameter& parameter) { return gradients_.of(parameter); }

  // The same for an operation that writes the whole gradient in one go: as long as there is none, the numbers are not
  // zeros but whatever the memory held, and `add` is false: they shall be written over. Saves a pass over memory.
  struct Destination {
    tensor::Tensor gradient;
    bool add = true;
  };
  Destination destination(const Var& var);
  // Adds `gradient`, all of it, to that of `var`. As long as there is none it becomes that gradient itself, so nobody
  // may read or write it afterwards: for the gradient of an operation's output, or one made for this.
  void give(const Var& var, tensor::Tensor gradient);

  // Adds d loss / d x to every gradient; loss is a number (1 x 1). Can be called once. Gradients of variable() stay
  // readable.
  void backward(const Var& loss);

 private:
  struct Entry {
    tensor::Tensor gradient;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    tensor::DType dtype = tensor::DType::f32;
    Backward backward;  // empty for variable()
  };

  Entry& entry_of(const Var& var);

  Gradients& gradients_;
  Profile* profile_;
  std::vector<Entry> entries_;
};

}  // namespace zhuyi::autograd
