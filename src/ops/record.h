#pragma once
// What all operations have in common: their time is taken, forward and backward, and what is recorded goes on the tape.

#include <utility>

#include "autograd/run.h"

namespace zhuyi::ops {

// An operation's output and work.
struct Operator {
  autograd::Operation operation;  // whose time it is
  std::int64_t rows = 0;          // of the output
  std::int64_t columns = 0;
  tensor::DType dtype = tensor::DType::f32;  // of the output, and of the arithmetic
  bool differentiable = true;                // something flows back
  autograd::Work forward = {};
  autograd::Work backward = {};
};

// The output of an operation. forward(zero, out) fills `out`, which is not initialised; when it is recorded,
// backward(zero, dout, tape) later adds the gradients of the inputs, given that of the output. `zero` is of the type
// that both compute in, float or double. `backward` lives as long as the tape: what it needs it holds by value.
template <class Forward, class Backward>
autograd::Var record(autograd::Run& run, const Operator& op, const Forward& forward, Backward backward) {
  tensor::Tensor out;
  {
    const autograd::Timing timing(run.profile(), op.operation, autograd::Pass::forward, op.forward);
    out = run.output(op.rows, op.columns, op.dtype);
    tensor::visit(op.dtype, [&](auto zero) { forward(zero, out); });
  }
  if (!run.recording() || !op.differentiable) return autograd::Var(std::move(out));
  return run.record(std::move(out), [op, backward = std::move(backward)](tensor::Tensor dout, autograd::Tape& tape) {
    const autograd::Timing timing(tape.profile(), op.operation, autograd::Pass::backward, op.backward);
    tensor::visit(op.dtype, [&](auto zero) { backward(zero, dout, tape); });
  });
}

}  // namespace zhuyi::ops
