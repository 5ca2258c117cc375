#pragma once
// A case of the table of operations with its numbers, ready to run forward and backward.

#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "op_cases.h"

namespace zhuyi::ops {

// A case with its numbers: inputs, parameters and their gradients.
class OpInstance {
 public:
  // Numbers drawn from `seed`, the same for float and double, none nearer than 0.02 to the kink of ReLU at zero.
  OpInstance(OpCase op, tensor::DType dtype, std::uint64_t seed) : op_(std::move(op)) {
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      inputs_.push_back(draw(op_.inputs[i], base::combine(seed, 1, i)));
      tensors_.push_back(tensor_of(op_.inputs[i], inputs_.back(), dtype));
    }
    for (std::size_t i = 0; i < op_.parameters.size(); ++i) {
      const Shape& shape = op_.parameters[i];
      list_.push_back(parameters_.add(fmt::format("p{}", i), shape.rows, shape.columns, {}));
    }
    parameters_.lay_out(dtype, 0);
    for (std::size_t i = 0; i < op_.parameters.size(); ++i) {
      values_.push_back(draw(op_.parameters[i], base::combine(seed, 2, i)));
      list_[i]->value.assign(tensor_of(op_.parameters[i], values_.back(), dtype));
    }
    gradients_ = std::make_unique<autograd::Gradients>(parameters_);
  }

  const OpCase& op() const { return op_; }
  std::vector<double> expected() const { return op_.expected(inputs_, values_); }
  // What a change of these numbers changes.
  std::span<const tensor::Tensor> inputs() const { return tensors_; }
  std::span<const ParameterPtr> parameters() const { return list_; }
  autograd::Gradients& gradients() const { return *gradients_; }

  // The inputs as variables of a tape.
  std::vector<Var> variables(autograd::Tape& tape) const {
    std::vector<Var> variables;
    for (const tensor::Tensor& tensor : tensors_) variables.push_back(tape.variable(tensor));
    return variables;
  }

  // The output with dropout, recorded on the tape.
  Var forward(autograd::Tape& tape, std::span<const Var> variables) const {
    Run run(tape, kDropoutKey);
    return op_.apply(variables, list_, run);
  }

 private:
  static std::vector<double> draw(const Shape& shape, std::uint64_t key) {
    base::Random random(key);
    std::vector<double> numbers(static_cast<std::size_t>(shape.size()));
    for (double& x : numbers) {
      x = static_cast<double>(static_cast<float>(random.normal()));
      if (std::abs(x) < 0.02) x = x < 0 ? -0.03125 : 0.03125;
    }
    return numbers;
  }
  static tensor::Tensor tensor_of(const Shape& shape, const std::vector<double>& numbers, tensor::DType dtype) {
    return tensor::Tensor::of(shape.rows, shape.columns, numbers, dtype);
  }

  OpCase op_;
  Values inputs_;
  Values values_;
  std::vector<tensor::Tensor> tensors_;
  autograd::Parameters parameters_;
  std::vector<ParameterPtr> list_;
  std::unique_ptr<autograd::Gradients> gradients_;
};

// The sum of all elements of y times `weights` (of the same shape): one number whose gradient with respect to y is
// known.
inline Var weighted_sum(const Var& y, const tensor::Tensor& weights, autograd::Tape& tape) {
  tensor::Tensor total(1, 1, y.value().dtype());
  return tensor::visit(total.dtype(), [&](auto zero) {
    using T = decltype(zero);
    double sum = 0;
    for (std::size_t i = 0; i < y.value().data<T>().size(); ++i) {
      sum += static_cast<double>(y.value().data<T>()[i]) * static_cast<double>(weights.data<T>()[i]);
    }
    total.data<T>()[0] = static_cast<T>(sum);
    return tape.record(total, [y, weights](const tensor::Tensor& dout, autograd::Tape& t) {
      if (!y.tracked()) return;
      const std::span<T> gradient = t.gradient(y).template data<T>();
      for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += dout.data<T>()[0] * weights.data<T>()[i];
    });
  });
}

}  // namespace zhuyi::ops
