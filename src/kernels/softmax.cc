#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/serial.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cc"
#include "hwy/foreach_target.h"
//
#include "kernels/lanes-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {
namespace {

template <class T>
void softmax_serial(T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto top = hn::Set(d, largest(d, x, n));
  const T total = sum_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
    const auto e = exponential(d, hn::Sub(access.load(x + i), top));
    access.store(e, x + i);
    return e;
  });
  const auto inverse = hn::Set(d, 1 / total);
  for_lanes(d, n,
            [&](auto access, std::int64_t i) HWY_ATTR { access.store(hn::Mul(access.load(x + i), inverse), x + i); });
}

template <class T>
void log_softmax_serial(T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto top = hn::Set(d, largest(d, x, n));
  const T total = sum_lanes(
      d, n, [&](auto access, std::int64_t i) HWY_ATTR { return exponential(d, hn::Sub(access.load(x + i), top)); });
  const auto log_total = hn::Set(d, std::log(total));
  // The maximum goes first: it may be large, and then its sum with the logarithm would lose digits.
  for_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
    access.store(hn::Sub(hn::Sub(access.load(x + i), top), log_total), x + i);
  });
}

// With s_j = x_j - max and l = log sum_j e^{s_j}: -log p_j = l - s_j, so
// loss = own (l - s_t) + others ((n l - sum_j s_j) - (l - s_t)).
template <class T>
RowLosses<T> cross_entropy_serial(T* logits, std::int64_t n, const TargetDistribution<T>& q) {
  const hn::ScalableTag<T> d;
  const T maximum = largest(d, logits, n);
  const auto top = hn::Set(d, maximum);
  const T target = logits[q.target] - maximum;
  T sum = 0;
  if (q.others != 0) {
    sum = sum_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR { return hn::Sub(access.load(logits + i), top); });
  }
  T total;
  if (q.gradient) {
    total = sum_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
      const auto e = exponential(d, hn::Sub(access.load(logits + i), top));
      access.store(e, logits + i);
      return e;
    });
    const auto inverse = hn::Set(d, 1 / total);
    const auto others = hn::Set(d, q.others);
    for_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
      access.store(hn::MulSub(access.load(logits + i), inverse, others), logits + i);
    });
    logits[q.target] -= q.own - q.others;
  } else {
    total = sum_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
      return exponential(d, hn::Sub(access.load(logits + i), top));
    });
  }
  const T log_total = std::log(total);
  const T nll = log_total - target;
  return {q.own * nll + q.others * ((static_cast<T>(n) * log_total - sum) - nll), nll};
}

template <class T>
void softmax_backward_serial(const T* weights, T* gradient, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto mean = hn::Set(d, sum_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
                              return hn::Mul(access.load(weights + i), access.load(gradient + i));
                            }));
  for_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
    access.store(hn::Mul(access.load(weights + i), hn::Sub(access.load(gradient + i), mean)), gradient + i);
  });
}

template <class T>
const SoftmaxKernels<T>* softmax_table() {
  static constexpr SoftmaxKernels<T> table{.softmax = softmax_serial<T>,
                                           .log_softmax = log_softmax_serial<T>,
                                           .cross_entropy = cross_entropy_serial<T>,
                                           .softmax_backward = softmax_backward_serial<T>};
  return &table;
}

}  // namespace

// NOLINTNEXTLINE: one of several definitions, one for each instruction set
std::int64_t first_above_serial(const float* x, std::int64_t begin, std::int64_t n, float limit) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto low = hn::Set(d, limit);
  std::int64_t i = begin;
  const auto all_low = [&](std::int64_t at) HWY_ATTR { return hn::Le(hn::LoadU(d, x + at), low); };
  while (i + 4 * lanes <= n) {
    const auto two = hn::And(all_low(i), all_low(i + lanes));
    const auto other = hn::And(all_low(i + 2 * lanes), all_low(i + 3 * lanes));
    if (!hn::AllTrue(d, hn::And(two, other))) break;
    i += 4 * lanes;
  }
  while (i < n && x[i] <= limit) ++i;
  return i;
}

const SoftmaxKernels<float>* softmax_table_f32() { return softmax_table<float>(); }
const SoftmaxKernels<double>* softmax_table_f64() { return softmax_table<double>(); }

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {

HWY_EXPORT(softmax_table_f32);
HWY_EXPORT(softmax_table_f64);
HWY_EXPORT(first_above_serial);

template <>
const SoftmaxKernels<float>& softmax_kernels() {
  return *HWY_DYNAMIC_DISPATCH(softmax_table_f32)();
}
template <>
const SoftmaxKernels<double>& softmax_kernels() {
  return *HWY_DYNAMIC_DISPATCH(softmax_table_f64)();
}

namespace {

void check_rows(const char* operation, std::int64_t columns, std::int64_t column_stride) {
  base::check(columns >= 1 && column_stride == 1,
              "{}: rows of {} numbers, {} apart; they must have at least one number and no gaps", operation, columns,
              column_stride);
}

}  // namespace

template <class T>
void softmax(Matrix<T> x) {
  check_rows("softmax", x.columns, x.column_stride);
  base::parallel_for(x.rows, rows_per_piece(x.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) softmax_kernels<T>().softmax(x.row(i), x.columns);
  });
}

template <class T>
void log_softmax(Matrix<T> x) {
  check_rows("log_softmax", x.columns, x.column_stride);
  base::parallel_for(x.rows, rows_per_piece(x.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) softmax_kernels<T>().log_softmax(x.row(i), x.columns);
  });
}

std::int64_t first_above(std::span<const float> x, std::int64_t begin, float limit) {
  return HWY_DYNAMIC_DISPATCH(first_above_serial)(x.data(), begin, std::ssize(x), limit);
}

template <class T>
void cross_entropy(Matrix<T> logits, std::span<const std::int32_t> targets, const Smoothing& smoothing, bool gradient,
                   std::span<T> losses, std::span<T> nll) {
  check_rows("cross_entropy", logits.columns, logits.column_stride);
  const std::size_t rows = static_cast<std::size_t>(logits.rows);
  base::check(targets.size() == rows && losses.size() == rows && nll.size() == rows,
              "cross_entropy: {} rows, {} targets, {} losses, {} nll; they must be equally many", rows, targets.size(),
              losses.size(), nll.size());
  for (const std::int32_t target : targets) {
    base::check(target >= 0 && target < logits.columns, "cross_entropy: target {} of {} classes", target,
                logits.columns);
  }
  const double classes = static_cast<double>(logits.columns);
  const bool marian = smoothing.form == SmoothingForm::marian;
  double others = smoothing.epsilon / (marian ? classes : classes - 1);
  if (!marian && logits.columns == 1) others = 0;
  const double own = 1 - smoothing.epsilon + (marian ? others : 0);
  base::parallel_for(logits.rows, rows_per_piece(logits.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t at = static_cast<std::size_t>(i);
      const RowLosses<T> row = softmax_kernels<T>().cross_entropy(
          logits.row(i), logits.columns, {targets[at], static_cast<T>(own), static_cast<T>(others), gradient});
      losses[at] = row.loss;
      nll[at] = row.nll;
    }
  });
}

template void softmax(Matrix<float>);
template void softmax(Matrix<double>);
template void log_softmax(Matrix<float>);
template void log_softmax(Matrix<double>);
template void cross_entropy(Matrix<float>, std::span<const std::int32_t>, const Smoothing&, bool, std::span<float>,
                            std::span<float>);
template void cross_entropy(Matrix<double>, std::span<const std::int32_t>, const Smoothing&, bool, std::span<double>,
                            std::span<double>);
}  // namespace zhuyi::kernels
#endif  // HWY_ONCE
