#include "base/error.h"
#include "ops/ops.h"
#include "ops/product.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Pass;
using autograd::Timing;
using base::check;
using kernels::ConstMatrix;
using kernels::GemmOptions;
using tensor::Tensor;
using tensor::visit;

void Weight::pack(kernels::Precision precision) {
  if (parameter->int8) return;
  check(parameter->value.dtype() == tensor::DType::f32, "pack: {} is {}, expected f32", parameter->name,
        parameter->value.shape());
  packed = std::make_shared<kernels::PackedMatrix>(matrix<float>(), precision);
}

Weight Weight::some_outputs(std::span<const std::int32_t> outputs) const {
  check(transposed, "some_outputs: {} is no table of outputs", parameter->name);
  auto some = std::make_shared<autograd::Parameter>();
  some->name = parameter->name;
  some->rows = std::ssize(outputs);
  some->columns = parameter->columns;
  Weight weight{some, true};
  if (parameter->int8) {
    some->int8 = std::make_shared<const kernels::Int8Matrix>(parameter->int8->some_columns(outputs));
    return weight;
  }
  some->value = Tensor(some->rows, some->columns, parameter->value.dtype());
  for (std::int64_t i = 0; i < some->rows; ++i) {
    const std::int64_t row = outputs[static_cast<std::size_t>(i)];
    check(row >= 0 && row < parameter->rows, "some_outputs: output {} of {}", row, parameter->rows);
    some->value.slice(i, i + 1).assign(parameter->value.slice(row, row + 1));
  }
  if (packed) {
    weight.pack(packed->precision());
    some->value = Tensor();  // products read the packed copy
  }
  return weight;
}

namespace {

// Of one product with the weight: 2 tokens in out. Backward has one more for each gradient.
autograd::Work work_of(const Tensor& x, const Weight& weight, const Run& run) {
  return {2 * static_cast<double>(x.rows()) * static_cast<double>(weight.inputs() * weight.outputs()), run.precision};
}

}  // namespace

void linear_into(const Tensor& x, const Weight& weight, const ParameterPtr& bias, Run& run, const Tensor& out) {
  check(x.columns() == weight.inputs(), "linear: x is {}, {} takes {} columns", x.shape(), weight.parameter->name,
        weight.inputs());
  check(out.rows() == x.rows() && out.columns() == weight.outputs(), "linear: room for {}, {} gives {} columns",
        out.shape(), weight.parameter->name, weight.outputs());
  const Timing timing(run.profile(), Operation::linear, Pass::forward, work_of(x, weight, run));
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    GemmOptions<T> options;
    options.precision = run.precision;
    if (bias) options.bias = bias->value.data<T>().data();
    product<T>(x.matrix<T>(), weight, out.matrix<T>(), options, run.recording());
  });
}

Var linear(const Var& x, const Weight& weight, const ParameterPtr& bias, Run& run) {
  const Tensor out(x.rows(), weight.outputs(), x.value().dtype());
  linear_into(x.value(), weight, bias, run, out);
  const autograd::Work work = work_of(x.value(), weight, run);
  return run.output(out, true, [x, weight, bias, work](const Tensor& dy, autograd::Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::linear, Pass::backward,
                                 {(x.tracked() ? 2 : 1) * work.flops, work.precision});
    visit(dy.dtype(), [&](auto zero) {
      using T = decltype(zero);
      GemmOptions<T> add;
      add.accumulate = true;
      add.precision = work.precision;
      const ConstMatrix<T> gradient = dy.matrix<T>();
      if (x.tracked()) {  // dX [tokens, in] += dY [tokens, out] W^T [out, in]
        const autograd::Tape::Place dx = tape.place(x);
        GemmOptions<T> options = add;
        options.accumulate = dx.add;
        kernels::gemm<T>(gradient, weight.matrix<T>().transposed(), dx.gradient.matrix<T>(), options);
      }
      const ConstMatrix<T> input = x.value().matrix<T>();
      const kernels::Matrix<T> dw = tape.gradient(*weight.parameter).matrix<T>();
      if (weight.transposed) {  // dW^T [out, in] += dY^T [out, tokens] X [tokens, in]
        kernels::gemm<T>(gradient.transposed(), input, dw, add);
      } else {  // dW [in, out] += X^T [in, tokens] dY [tokens, out]
        kernels::gemm<T>(input.transposed(), gradient, dw, add);
      }
      if (bias) kernels::add_column_sums<T>(gradient, tape.gradient(*bias).data<T>());
    });
  });
}

}  // namespace zhuyi::ops
