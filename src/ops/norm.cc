#include "base/error.h"
#include "ops/ops.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Pass;
using autograd::Timing;
using base::check;
using kernels::NormGradients;
using tensor::Tensor;
using tensor::visit;

namespace {

// Where the gradients of a norm go. x's gradient is scratch when nobody wants it.
template <class T>
NormGradients<T> gradients_of(const Var& x, const ParameterPtr& gain, const ParameterPtr& bias, const Tensor& dy,
                              autograd::Tape& tape) {
  const autograd::Tape::Place dx =
      x.tracked() ? tape.place(x) : autograd::Tape::Place{Tensor(x.rows(), x.columns(), dy.dtype()), false};
  return {dy.matrix<T>(), dx.gradient.matrix<T>(), tape.gradient(*gain).data<T>(),
          bias ? tape.gradient(*bias).data<T>() : std::span<T>(), dx.add};
}

void check_width(const char* operation, const Var& x, const ParameterPtr& parameter) {
  check(parameter->columns == x.columns(), "{}: x is {}, {} has {} columns", operation, x.value().shape(),
        parameter->name, parameter->columns);
}

}  // namespace

Var layer_norm(const Var& x, const ParameterPtr& gain, const ParameterPtr& bias, double epsilon, Run& run) {
  check_width("layer_norm", x, gain);
  check_width("layer_norm", x, bias);
  const Timing timing(run.profile(), Operation::norm, Pass::forward);
  const tensor::DType dtype = x.value().dtype();
  Tensor out(x.rows(), x.columns(), dtype);
  Tensor mean(1, x.rows(), dtype);
  Tensor inverse_deviation(1, x.rows(), dtype);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels::layer_norm<T>(x.value().matrix<T>(), gain->value.data<T>(), bias->value.data<T>(), static_cast<T>(epsilon),
                           out.matrix<T>(), mean.data<T>(), inverse_deviation.data<T>());
  });
  return run.output(out, true, [=](const Tensor& dy, autograd::Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::norm, Pass::backward);
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      kernels::layer_norm_backward<T>(x.value().matrix<T>(), gain->value.data<T>(), mean.data<T>(),
                                      inverse_deviation.data<T>(), gradients_of<T>(x, gain, bias, dy, tape));
    });
  });
}

Var rms_norm(const Var& x, const ParameterPtr& gain, double epsilon, Run& run) {
  check_width("rms_norm", x, gain);
  const Timing timing(run.profile(), Operation::norm, Pass::forward);
  const tensor::DType dtype = x.value().dtype();
  Tensor out(x.rows(), x.columns(), dtype);
  Tensor inverse_deviation(1, x.rows(), dtype);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels::rms_norm<T>(x.value().matrix<T>(), gain->value.data<T>(), static_cast<T>(epsilon), out.matrix<T>(),
                         inverse_deviation.data<T>());
  });
  return run.output(out, true, [=](const Tensor& dy, autograd::Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::norm, Pass::backward);
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      kernels::rms_norm_backward<T>(x.value().matrix<T>(), gain->value.data<T>(), inverse_deviation.data<T>(),
                                    gradients_of<T>(x, gain, nullptr, dy, tape));
    });
  });
}

}  // namespace zhuyi::ops
