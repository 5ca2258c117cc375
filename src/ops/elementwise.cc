#include "base/error.h"
#include "ops/ops.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Pass;
using autograd::Tape;
using autograd::Timing;
using base::check;
using tensor::Tensor;
using tensor::visit;

namespace {

void check_same_shape(const char* operation, const Var& x, const Var& y) {
  check(x.rows() == y.rows() && x.columns() == y.columns(), "{}: shapes differ, {} and {}", operation,
        x.value().shape(), y.value().shape());
}

template <class T>
std::span<const T> numbers(const Tensor& tensor) {
  return tensor.data<T>();
}

// Adds `gradient` to that of x, and leaves it as it is.
void add_gradient(const Var& x, const Tensor& gradient, Tape& tape) {
  const Tape::Place dx = tape.place(x);
  if (!dx.add) return dx.gradient.assign(gradient);
  visit(gradient.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::add_scaled<T>(1, numbers<T>(gradient), dx.gradient.data<T>());
  });
}

// Adds dropout(dout) to the gradient of x.
template <class T>
void add_dropped(const kernels::Dropout& mask, const Tensor& dout, const Var& x, Tape& tape) {
  const Tape::Place dx = tape.place(x);
  if (dx.add) return kernels::add_dropout<T>(mask, numbers<T>(dout), dx.gradient.data<T>());
  kernels::dropout<T>(mask, numbers<T>(dout), dx.gradient.data<T>());
}

// Adds dout * y to the gradient of x.
template <class T>
void add_multiplied(const Tensor& dout, const Tensor& y, const Var& x, Tape& tape) {
  const Tape::Place dx = tape.place(x);
  if (dx.add) return kernels::add_product<T>(numbers<T>(dout), numbers<T>(y), dx.gradient.data<T>());
  kernels::multiply<T>(numbers<T>(dout), numbers<T>(y), dx.gradient.data<T>());
}

}  // namespace

Var add(const Var& x, const Var& y, Run& run) {
  check_same_shape("add", x, y);
  const Timing timing(run.profile(), Operation::residual, Pass::forward);
  Tensor out(x.rows(), x.columns(), x.value().dtype());
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::add<T>(numbers<T>(x.value()), numbers<T>(y.value()), out.data<T>());
  });
  return run.output(out, x.tracked() || y.tracked(), [x, y](const Tensor& dout, Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::residual, Pass::backward);
    if (y.tracked()) add_gradient(y, dout, tape);
    if (x.tracked()) tape.give(x, dout);  // after all who read it
  });
}

Var multiply(const Var& x, const Var& y, Run& run) {
  check_same_shape("multiply", x, y);
  const Timing timing(run.profile(), Operation::gate, Pass::forward);
  Tensor out(x.rows(), x.columns(), x.value().dtype());
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::multiply<T>(numbers<T>(x.value()), numbers<T>(y.value()), out.data<T>());
  });
  return run.output(out, x.tracked() || y.tracked(), [x, y](const Tensor& dout, Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::gate, Pass::backward);
    visit(dout.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if (x.tracked()) add_multiplied<T>(dout, y.value(), x, tape);
      if (y.tracked()) add_multiplied<T>(dout, x.value(), y, tape);
    });
  });
}

Var add_dropout(const Var& x, const Var& y, double rate, Run& run) {
  check_same_shape("add_dropout", x, y);
  const kernels::Dropout mask = run.next_dropout(rate);
  if (mask.rate == 0) return add(x, y, run);
  const Timing timing(run.profile(), Operation::residual, Pass::forward);
  Tensor out(x.rows(), x.columns(), x.value().dtype());
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::residual<T>(mask, numbers<T>(x.value()), numbers<T>(y.value()), out.data<T>());
  });
  return run.output(out, x.tracked() || y.tracked(), [x, y, mask](const Tensor& dout, Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::residual, Pass::backward);
    visit(dout.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if (y.tracked()) add_dropped<T>(mask, dout, y, tape);
    });
    if (x.tracked()) tape.give(x, dout);  // after all who read it
  });
}

Var dropout(const Var& x, double rate, Run& run) {
  const kernels::Dropout mask = run.next_dropout(rate);
  if (mask.rate == 0) return x;
  const Timing timing(run.profile(), Operation::dropout, Pass::forward);
  Tensor out(x.rows(), x.columns(), x.value().dtype());
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::dropout<T>(mask, numbers<T>(x.value()), out.data<T>());
  });
  return run.output(out, x.tracked(), [x, mask](const Tensor& dout, Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::dropout, Pass::backward);
    visit(dout.dtype(), [&](auto zero) {
      using T = decltype(zero);
      add_dropped<T>(mask, dout, x, tape);
    });
  });
}

Var activate(const Var& x, Activation activation, Run& run) {
  if (activation == Activation::identity) return x;
  const Timing timing(run.profile(), Operation::activation, Pass::forward);
  Tensor out(x.rows(), x.columns(), x.value().dtype());
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::activate<T>(activation, numbers<T>(x.value()), out.data<T>());
  });
  return run.output(out, x.tracked(), [x, activation](const Tensor& dout, Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::activation, Pass::backward);
    visit(dout.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const Tape::Place dx = tape.place(x);
      kernels::activate_backward<T>(activation, numbers<T>(x.value()), numbers<T>(dout), dx.gradient.data<T>(), dx.add);
    });
  });
}

}  // namespace zhuyi::ops
