#include <algorithm>
#include <functional>

#include "base/error.h"
#include "ops/ops.h"
#include "ops/product.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Pass;
using autograd::Timing;
using base::check;
using kernels::GemmOptions;
using kernels::Matrix;
using tensor::Tensor;
using tensor::visit;

namespace {

// Logits of one block of rows hold about this many numbers (64 MB of f32).
constexpr std::int64_t kBlockNumbers = std::int64_t{1} << 24;

std::int64_t rows_per_block(std::int64_t vocabulary) { return std::max<std::int64_t>(128, kBlockNumbers / vocabulary); }

void check_targets(const Tensor& x, const Weight& weight, std::span<const std::int32_t> targets) {
  check(x.columns() == weight.inputs() && x.rows() == static_cast<std::int64_t>(targets.size()),
        "projection loss: x is {}, {} targets, {} takes {} columns", x.shape(), targets.size(), weight.parameter->name,
        weight.inputs());
  for (const std::int32_t target : targets) {
    check(target >= 0 && target < weight.outputs(), "projection loss: target {} with a vocabulary of {}", target,
          weight.outputs());
  }
}

// Calls visit_block(begin, end, logits) for blocks of rows, with logits = x W + bias.
template <class T>
void for_each_block(const Tensor& x, const Weight& weight, const ParameterPtr& bias, const Run& run,
                    const std::function<void(std::int64_t, std::int64_t, Matrix<T>)>& visit_block) {
  const std::int64_t step = rows_per_block(weight.outputs());
  const Tensor buffer(std::min(step, x.rows()), weight.outputs(), x.dtype());
  GemmOptions<T> options;
  options.precision = run.precision;
  if (bias) options.bias = bias->value.data<T>().data();
  for (std::int64_t begin = 0; begin < x.rows(); begin += step) {
    const std::int64_t end = std::min(x.rows(), begin + step);
    const Matrix<T> logits = buffer.slice(0, end - begin).matrix<T>();
    product<T>(x.slice(begin, end).matrix<T>(), weight, logits, options, run.recording());
    visit_block(begin, end, logits);
  }
}

// The gradients of the loss with respect to x, the weight and the bias, computed while the logits are there.
struct ProjectionGradients {
  Tensor x;
  Tensor weight;
  Tensor bias;
};

// dx block = dlogits W^T; dW += x^T dlogits; dbias += column sums of dlogits.
template <class T>
void add_block(const Tensor& x, const Weight& weight, Matrix<T> dlogits, std::int64_t begin,
               kernels::Precision precision, const ProjectionGradients& gradients) {
  const std::int64_t end = begin + dlogits.rows;
  GemmOptions<T> options;
  options.precision = precision;
  kernels::gemm<T>(dlogits, weight.matrix<T>().transposed(), gradients.x.slice(begin, end).matrix<T>(), options);
  GemmOptions<T> accumulate = options;
  accumulate.accumulate = true;
  const kernels::ConstMatrix<T> rows = x.slice(begin, end).matrix<T>();
  if (weight.transposed) {
    kernels::gemm<T>(dlogits.transposed(), rows, gradients.weight.matrix<T>(), accumulate);
  } else {
    kernels::gemm<T>(rows.transposed(), dlogits, gradients.weight.matrix<T>(), accumulate);
  }
  if (!gradients.bias.empty()) kernels::add_column_sums<T>(dlogits, gradients.bias.data<T>());
}

}  // namespace

Loss projection_loss(const Var& x, const Weight& weight, const ParameterPtr& bias,
                     std::span<const std::int32_t> targets, const kernels::Smoothing& smoothing, Run& run) {
  check_targets(x.value(), weight, targets);
  const autograd::Work work{2 * static_cast<double>(x.rows()) * static_cast<double>(weight.inputs() * weight.outputs()),
                            run.precision};
  const Timing timing(run.profile(), Operation::projection_loss, Pass::forward, work);
  const tensor::DType dtype = x.value().dtype();
  const bool gradient = run.recording();
  const autograd::Parameter& table = *weight.parameter;
  ProjectionGradients gradients;
  if (gradient) {
    gradients.x = Tensor(x.rows(), x.columns(), dtype);
    gradients.weight = Tensor::zeros(table.rows, table.columns, dtype);
    if (bias) gradients.bias = Tensor::zeros(1, bias->columns, dtype);
  }
  Loss loss;
  Tensor total(1, 1, dtype);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    const Tensor losses(1, x.rows(), dtype);
    const Tensor nlls(1, x.rows(), dtype);
    for_each_block<T>(x.value(), weight, bias, run, [&](std::int64_t begin, std::int64_t end, Matrix<T> logits) {
      const auto first = static_cast<std::size_t>(begin);
      const auto count = static_cast<std::size_t>(end - begin);
      kernels::cross_entropy<T>(logits, targets.subspan(first, count), smoothing, gradient,
                                losses.data<T>().subspan(first, count), nlls.data<T>().subspan(first, count));
      if (!gradient) return;
      const auto share = static_cast<double>(count) / static_cast<double>(x.rows());
      const Timing backward_timing(run.profile(), Operation::projection_loss, Pass::backward,
                                   {2 * share * work.flops, work.precision});
      add_block<T>(x.value(), weight, logits, begin, run.precision, gradients);
    });
    total.data<T>()[0] = static_cast<T>(kernels::sum<T>(losses.data<T>()));
    loss.nll = kernels::sum<T>(nlls.data<T>());
  });
  loss.total = run.output(total, true, [x, weight, bias, gradients](const Tensor& dout, autograd::Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::projection_loss, Pass::backward);
    visit(dout.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T factor = dout.data<T>()[0];
      const auto pass_on = [&](const Tensor& from, const Tensor& to) {
        kernels::add_scaled<T>(factor, from.data<T>(), to.data<T>());
      };
      if (x.tracked()) {
        if (factor != 1) kernels::scale<T>(factor, gradients.x.data<T>());
        tape.give(x, gradients.x);
      }
      pass_on(gradients.weight, tape.gradient(*weight.parameter));
      if (bias) pass_on(gradients.bias, tape.gradient(*bias));
    });
  });
  return loss;
}

Tensor projection_nll(const Tensor& x, const Weight& weight, const ParameterPtr& bias,
                      std::span<const std::int32_t> targets) {
  check_targets(x, weight, targets);
  Tensor nlls(x.rows(), 1, x.dtype());
  visit(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Tensor losses(1, x.rows(), x.dtype());
    for_each_block<T>(x, weight, bias, Run(), [&](std::int64_t begin, std::int64_t end, Matrix<T> logits) {
      const auto first = static_cast<std::size_t>(begin);
      const auto count = static_cast<std::size_t>(end - begin);
      kernels::cross_entropy<T>(logits, targets.subspan(first, count), {}, false,
                                losses.data<T>().subspan(first, count), nlls.data<T>().subspan(first, count));
    });
  });
  return nlls;
}

}  // namespace zhuyi::ops
