#include "base/error.h"
#include "ops/ops.h"
#include "ops/record.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Tape;
using base::check;
using tensor::Tensor;

namespace {

void check_same_shape(const char* operation, const Var& x, const Var& y) {
  check(x.rows() == y.rows() && x.columns() == y.columns(), "{}: shapes differ, {} and {}", operation,
        x.value().shape(), y.value().shape());
}

// An operation whose output has the shape of x.
Operator shaped_as(const Var& x, Operation operation, bool differentiable) {
  return {operation, x.rows(), x.columns(), x.value().dtype(), differentiable};
}

// Adds `gradient` to that of x, and leaves it as it is.
template <class T>
void add_gradient(const Var& x, const Tensor& gradient, Tape& tape) {
  Tape::Destination dx = tape.destination(x);
  if (!dx.add) return dx.gradient.assign(gradient);
  kernels::add_scaled<T>(1, gradient.data<T>(), dx.gradient.data<T>());
}

// Adds dropout(dout) to the gradient of x.
template <class T>
void add_dropped(const kernels::Dropout& mask, const Tensor& dout, const Var& x, Tape& tape) {
  Tape::Destination dx = tape.destination(x);
  if (dx.add) return kernels::add_dropout<T>(mask, dout.data<T>(), dx.gradient.data<T>());
  kernels::dropout<T>(mask, dout.data<T>(), dx.gradient.data<T>());
}

// Adds dout * y to the gradient of x.
template <class T>
void add_multiplied(const Tensor& dout, const Tensor& y, const Var& x, Tape& tape) {
  Tape::Destination dx = tape.destination(x);
  if (dx.add) return kernels::add_product<T>(dout.data<T>(), y.data<T>(), dx.gradient.data<T>());
  kernels::multiply<T>(dout.data<T>(), y.data<T>(), dx.gradient.data<T>());
}

}  // namespace

Var add(const Var& x, const Var& y, Run& run) {
  check_same_shape("add", x, y);
  return record(
      run, shaped_as(x, Operation::residual, x.tracked() || y.tracked()),
      [&]<class T>(T, Tensor& out) { kernels::add<T>(x.value().data<T>(), y.value().data<T>(), out.data<T>()); },
      [x, y]<class T>(T, const Tensor& dout, Tape& tape) {
        if (y.tracked()) add_gradient<T>(y, dout, tape);
        if (x.tracked()) tape.give(x, dout);  // after all who read it
      });
}

Var multiply(const Var& x, const Var& y, Run& run) {
  check_same_shape("multiply", x, y);
  return record(
      run, shaped_as(x, Operation::gate, x.tracked() || y.tracked()),
      [&]<class T>(T, Tensor& out) { kernels::multiply<T>(x.value().data<T>(), y.value().data<T>(), out.data<T>()); },
      [x, y]<class T>(T, const Tensor& dout, Tape& tape) {
        if (x.tracked()) add_multiplied<T>(dout, y.value(), x, tape);
        if (y.tracked()) add_multiplied<T>(dout, x.value(), y, tape);
      });
}

Var add_dropout(const Var& x, const Var& y, double rate, Run& run) {
  check_same_shape("add_dropout", x, y);
  const kernels::Dropout mask = run.next_dropout(rate);
  if (mask.rate == 0) return add(x, y, run);
  return record(
      run, shaped_as(x, Operation::residual, x.tracked() || y.tracked()),
      [&]<class T>(T, Tensor& out) {
        kernels::residual<T>(mask, x.value().data<T>(), y.value().data<T>(), out.data<T>());
      },
      [x, y, mask]<class T>(T, const Tensor& dout, Tape& tape) {
        if (y.tracked()) add_dropped<T>(mask, dout, y, tape);
        if (x.tracked()) tape.give(x, dout);  // after all who read it
      });
}

Var dropout(const Var& x, double rate, Run& run) {
  const kernels::Dropout mask = run.next_dropout(rate);
  if (mask.rate == 0) return x;
  return record(
      run, shaped_as(x, Operation::dropout, x.tracked()),
      [&]<class T>(T, Tensor& out) { kernels::dropout<T>(mask, x.value().data<T>(), out.data<T>()); },
      [x, mask]<class T>(T, const Tensor& dout, Tape& tape) { add_dropped<T>(mask, dout, x, tape); });
}

Var activate(const Var& x, Activation activation, Run& run) {
  if (activation == Activation::identity) return x;
  return record(
      run, shaped_as(x, Operation::activation, x.tracked()),
      [&]<class T>(T, Tensor& out) { kernels::activate<T>(activation, x.value().data<T>(), out.data<T>()); },
      [x, activation]<class T>(T, const Tensor& dout, Tape& tape) {
        Tape::Destination dx = tape.destination(x);
        kernels::activate_backward<T>(activation, x.value().data<T>(), dout.data<T>(), dx.gradient.data<T>(), dx.add);
      });
}

}  // namespace zhuyi::ops
