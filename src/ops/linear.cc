#include "base/error.h"
#include "ops/ops.h"
#include "ops/record.h"
#include "ops/weight_gradient.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Tape;
using kernels::GemmOptions;
using tensor::Tensor;

namespace {

// The products of one pass forward, and of one back.
autograd::Work work_of(std::int64_t tokens, const Weight& weight, const Run& run) {
  return {2 * static_cast<double>(tokens) * static_cast<double>(weight.inputs() * weight.outputs()),
          weight.precision(run.recording())};
}

}  // namespace

Var linear(const Var& x, const Weight& weight, const ConstParameterPtr& bias, Run& run) {
  base::check(x.columns() == weight.inputs(), "linear: x is {}, {} takes {} columns", x.value().shape(), weight.name(),
              weight.inputs());
  const autograd::Work work = work_of(x.rows(), weight, run);
  return record(
      run,
      {.operation = Operation::linear,
       .rows = x.rows(),
       .columns = weight.outputs(),
       .dtype = x.value().dtype(),
       .forward = work,
       .backward = {(x.tracked() ? 2 : 1) * work.flops, work.precision}},
      [&]<class T>(T, Tensor& out) {
        GemmOptions<T> options;
        if (bias) options.bias = bias->value.data<T>().data();
        weight.product<T>(x.value().matrix<T>(), out.matrix<T>(), options, run.recording());
      },
      [x, weight, bias, precision = work.precision]<class T>(T, const Tensor& dy, Tape& tape) {
        if (x.tracked()) {  // dX [tokens, in] += dY [tokens, out] W^T [out, in]
          Tape::Destination dx = tape.destination(x);
          GemmOptions<T> options;
          options.accumulate = dx.add;
          options.precision = precision;
          kernels::gemm<T>(dy.matrix<T>(), weight.plain()->matrix<T>().transposed(), dx.gradient.matrix<T>(), options);
        }
        add_weight_gradient<T>(x.value().matrix<T>(), dy.matrix<T>(), weight,
                               tape.gradient(*weight.declared().parameter), precision);
        if (bias) kernels::add_column_sums<T>(dy.matrix<T>(), tape.gradient(*bias).data<T>());
      });
}

}  // namespace zhuyi::ops
