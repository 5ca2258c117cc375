#include "base/error.h"
#include "ops/ops.h"
#include "ops/record.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Tape;
using base::check;
using kernels::NormGradients;
using tensor::Tensor;

namespace {

// Where the gradients of a norm go. x's gradient is scratch when nobody wants it.
template <class T>
NormGradients<T> gradients_of(const Var& x, const ConstParameterPtr& gain, const ConstParameterPtr& bias,
                              const Tensor& dy, Tape& tape) {
  Tape::Destination dx =
      x.tracked() ? tape.destination(x) : Tape::Destination{Tensor(x.rows(), x.columns(), dy.dtype()), false};
  return {dy.matrix<T>(), dx.gradient.matrix<T>(), tape.gradient(*gain).data<T>(),
          bias ? tape.gradient(*bias).data<T>() : std::span<T>(), dx.add};
}

void check_width(const char* operation, const Var& x, const ConstParameterPtr& parameter) {
  check(parameter->columns == x.columns(), "{}: x is {}, {} has {} columns", operation, x.value().shape(),
        parameter->name, parameter->columns);
}

}  // namespace

Var layer_norm(const Var& x, const ConstParameterPtr& gain, const ConstParameterPtr& bias, double epsilon, Run& run) {
  check_width("layer_norm", x, gain);
  check_width("layer_norm", x, bias);
  const tensor::DType dtype = x.value().dtype();
  Tensor mean(1, x.rows(), dtype);
  Tensor inverse_deviation(1, x.rows(), dtype);
  return record(
      run, {Operation::norm, x.rows(), x.columns(), dtype},
      [&]<class T>(T, Tensor& out) {
        kernels::layer_norm<T>(x.value().matrix<T>(), gain->value.data<T>(), bias->value.data<T>(),
                               static_cast<T>(epsilon), out.matrix<T>(), mean.data<T>(), inverse_deviation.data<T>());
      },
      [=]<class T>(T, const Tensor& dy, Tape& tape) {
        kernels::layer_norm_backward<T>(x.value().matrix<T>(), gain->value.data<T>(), mean.data<T>(),
                                        inverse_deviation.data<T>(), gradients_of<T>(x, gain, bias, dy, tape));
      });
}

Var rms_norm(const Var& x, const ConstParameterPtr& gain, double epsilon, Run& run) {
  check_width("rms_norm", x, gain);
  const tensor::DType dtype = x.value().dtype();
  Tensor inverse_deviation(1, x.rows(), dtype);
  return record(
      run, {Operation::norm, x.rows(), x.columns(), dtype},
      [&]<class T>(T, Tensor& out) {
        kernels::rms_norm<T>(x.value().matrix<T>(), gain->value.data<T>(), static_cast<T>(epsilon), out.matrix<T>(),
                             inverse_deviation.data<T>());
      },
      [=]<class T>(T, const Tensor& dy, Tape& tape) {
        kernels::rms_norm_backward<T>(x.value().matrix<T>(), gain->value.data<T>(), inverse_deviation.data<T>(),
                                      gradients_of<T>(x, gain, nullptr, dy, tape));
      });
}

}  // namespace zhuyi::ops
