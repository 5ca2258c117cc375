#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ops/ops.h"
#include "ops/weight_gradient.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Pass;
using autograd::Timing;
using base::check;
using kernels::ConstMatrix;
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
        "projection loss: x is {}, {} targets, {} takes {} columns", x.shape(), targets.size(), weight.name(),
        weight.inputs());
  for (const std::int32_t target : targets) {
    check(target >= 0 && target < weight.outputs(), "projection loss: target {} with a vocabulary of {}", target,
          weight.outputs());
  }
}

// Calls visit_block(first, count, logits) for blocks of rows, with logits = x W + bias.
template <class T, class VisitBlock>
void for_each_block(ConstMatrix<T> x, const Weight& weight, const ConstParameterPtr& bias, bool recording,
                    const VisitBlock& visit_block) {
  const std::int64_t step = rows_per_block(weight.outputs());
  Tensor buffer(std::min(step, x.rows), weight.outputs(), tensor::dtype_of<T>());
  GemmOptions<T> options;
  if (bias) options.bias = bias->value.data<T>().data();
  for (std::int64_t begin = 0; begin < x.rows; begin += step) {
    const std::int64_t count = std::min(step, x.rows - begin);
    const Matrix<T> logits = buffer.slice(0, count).matrix<T>();
    weight.product<T>(x.block(begin, 0, count, x.columns), logits, options, recording);
    visit_block(begin, count, logits);
  }
}

// The losses of all rows, smoothed and plain.
struct RowLosses {
  RowLosses(std::int64_t rows, tensor::DType dtype) : smoothed(rows, 1, dtype), nll(rows, 1, dtype) {}

  Tensor smoothed;  // [tokens, 1]
  Tensor nll;       // [tokens, 1]
};

// Cross-entropy of a block of logits, which become their own gradient if `gradient`.
template <class T>
void cross_entropy(Matrix<T> logits, std::int64_t first, std::span<const std::int32_t> targets,
                   const kernels::Smoothing& smoothing, bool gradient, RowLosses& losses) {
  const auto begin = static_cast<std::size_t>(first);
  const auto count = static_cast<std::size_t>(logits.rows);
  kernels::cross_entropy<T>(logits, targets.subspan(begin, count), smoothing, gradient,
                            losses.smoothed.data<T>().subspan(begin, count),
                            losses.nll.data<T>().subspan(begin, count));
}

}  // namespace

Loss projection_loss(const Var& x, const Weight& weight, const ConstParameterPtr& bias,
                     std::span<const std::int32_t> targets, const kernels::Smoothing& smoothing, Run& run) {
  check_targets(x.value(), weight, targets);
  const kernels::Precision precision = weight.precision(run.recording());
  const double flops = 2 * static_cast<double>(x.rows()) * static_cast<double>(weight.inputs() * weight.outputs());
  const Timing timing(run.profile(), Operation::projection_loss, Pass::forward, {flops, precision});
  const tensor::DType dtype = x.value().dtype();
  RowLosses losses(x.rows(), dtype);
  Tensor dx = run.recording() ? Tensor(x.rows(), x.columns(), dtype) : Tensor();
  Loss loss;
  Tensor total(1, 1, dtype);
  visit(dtype, [&]<class T>(T) {
    const ConstMatrix<T> rows = x.value().matrix<T>();
    for_each_block<T>(rows, weight, bias, run.recording(),
                      [&](std::int64_t begin, std::int64_t count, Matrix<T> logits) {
                        cross_entropy<T>(logits, begin, targets, smoothing, run.recording(), losses);
                        if (!run.recording()) return;
                        const double share = static_cast<double>(count) / static_cast<double>(rows.rows);
                        const Timing backward_timing(run.profile(), Operation::projection_loss, Pass::backward,
                                                     {2 * share * flops, precision});
                        const ConstMatrix<T> dlogits = logits;
                        GemmOptions<T> options;
                        options.precision = precision;
                        kernels::gemm<T>(dlogits, weight.plain()->matrix<T>().transposed(),
                                         dx.slice(begin, begin + count).matrix<T>(), options);
                        add_weight_gradient<T>(rows.block(begin, 0, count, rows.columns), dlogits, weight,
                                               run.gradient(*weight.declared().parameter), precision);
                        if (bias) kernels::add_column_sums<T>(dlogits, run.gradient(*bias).data<T>());
                      });
    total.data<T>()[0] = static_cast<T>(kernels::sum<T>(std::as_const(losses.smoothed).data<T>()));
    loss.nll = kernels::sum<T>(std::as_const(losses.nll).data<T>());
  });
  if (!run.recording()) {
    loss.total = Var(total);
    return loss;
  }
  loss.total = run.record(total, [x, dx](const Tensor& dout, autograd::Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::projection_loss, Pass::backward);
    base::check_kind(dout.at(0, 0) == 1, base::ErrorKind::internal,
                     "projection loss: its gradient is {}, expected 1: it is what backward begins with", dout.at(0, 0));
    if (x.tracked()) tape.give(x, dx);
  });
  return loss;
}

Tensor projection_nll(const Tensor& x, const Weight& weight, const ConstParameterPtr& bias,
                      std::span<const std::int32_t> targets) {
  check_targets(x, weight, targets);
  RowLosses losses(x.rows(), x.dtype());
  visit(x.dtype(), [&]<class T>(T) {
    for_each_block<T>(x.matrix<T>(), weight, bias, false, [&](std::int64_t begin, std::int64_t, Matrix<T> logits) {
      cross_entropy<T>(logits, begin, targets, {}, false, losses);
    });
  });
  return losses.nll;
}

}  // namespace zhuyi::ops
