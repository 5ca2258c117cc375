#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/rows.h"
#include "kernels/serial.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm.cc"
#include "hwy/foreach_target.h"
//
#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {
namespace {

template <class T>
NormMoments<T> norm_serial(const NormRow<T>& row, const T* bias, T epsilon, bool centred, T* out) {
  const hn::ScalableTag<T> d;
  const T count = static_cast<T>(row.n);
  T mean = 0;
  if (centred) {
    mean = sum_lanes(d, row.n, [&](auto access, std::int64_t i) HWY_ATTR { return access.load(row.x + i); }) / count;
  }
  const auto centre = hn::Set(d, mean);
  const T square = sum_lanes(d, row.n, [&](auto access, std::int64_t i) HWY_ATTR {
    const auto v = hn::Sub(access.load(row.x + i), centre);
    return hn::Mul(v, v);
  });
  const T inverse_deviation = 1 / std::sqrt(square / count + epsilon);
  const auto inverse = hn::Set(d, inverse_deviation);
  for_lanes(d, row.n, [&](auto access, std::int64_t i) HWY_ATTR {
    const auto v = hn::Mul(hn::Sub(access.load(row.x + i), centre), inverse);
    const auto gain = access.load(row.gain + i);
    access.store(bias ? hn::MulAdd(v, gain, access.load(bias + i)) : hn::Mul(v, gain), out + i);
  });
  return {mean, inverse_deviation};
}

// With n = (x - mean) r and g = dy gain: dx = r (g - mean(g) - n mean(g n)); dgain = dy n; dbias = dy. Without centring
// the term mean(g) is absent.
template <bool centred, class T>
HWY_INLINE void norm_backward_row(const NormRow<T>& row, const NormMoments<T>& moments, const T* dy, T* dx, T* dgain,
                                  T* dbias) {
  const hn::ScalableTag<T> d;
  const auto centre = hn::Set(d, moments.mean);
  const auto inverse = hn::Set(d, moments.inverse_deviation);
  auto sum_g = hn::Zero(d);
  auto sum_gn = hn::Zero(d);
  for_lanes(d, row.n, [&](auto access, std::int64_t i) HWY_ATTR {
    const auto n = hn::Mul(hn::Sub(access.load(row.x + i), centre), inverse);
    const auto gradient = access.load(dy + i);
    const auto g = hn::Mul(gradient, access.load(row.gain + i));  // 0 beyond the end
    sum_gn = hn::MulAdd(g, n, sum_gn);
    access.store(hn::MulAdd(gradient, n, access.load(dgain + i)), dgain + i);
    if constexpr (centred) {
      sum_g = hn::Add(sum_g, g);
      access.store(hn::Add(gradient, access.load(dbias + i)), dbias + i);
    }
  });
  const T count = static_cast<T>(row.n);
  const auto mean_g = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, sum_g)) / count);
  const auto mean_gn = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, sum_gn)) / count);
  for_lanes(d, row.n, [&](auto access, std::int64_t i) HWY_ATTR {
    const auto n = hn::Mul(hn::Sub(access.load(row.x + i), centre), inverse);
    const auto g = hn::Mul(access.load(dy + i), access.load(row.gain + i));
    const auto change = hn::Sub(hn::NegMulAdd(n, mean_gn, g), mean_g);
    access.store(hn::MulAdd(inverse, change, access.load(dx + i)), dx + i);
  });
}

template <class T>
void norm_backward_serial(const NormRow<T>& row, const NormMoments<T>& moments, bool centred, const T* dy, T* dx,
                          T* dgain, T* dbias) {
  if (centred) {
    norm_backward_row<true>(row, moments, dy, dx, dgain, dbias);
  } else {
    norm_backward_row<false>(row, moments, dy, dx, dgain, dbias);
  }
}

template <class T>
const NormKernels<T>* norm_table() {
  static constexpr NormKernels<T> table{.forward = norm_serial<T>, .backward = norm_backward_serial<T>};
  return &table;
}

}  // namespace

const NormKernels<float>* norm_table_f32() { return norm_table<float>(); }
const NormKernels<double>* norm_table_f64() { return norm_table<double>(); }

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {

HWY_EXPORT(norm_table_f32);
HWY_EXPORT(norm_table_f64);

template <>
const NormKernels<float>& norm_kernels() {
  return *HWY_DYNAMIC_DISPATCH(norm_table_f32)();
}
template <>
const NormKernels<double>& norm_kernels() {
  return *HWY_DYNAMIC_DISPATCH(norm_table_f64)();
}

namespace {

// Rows whose contributions to dgain and dbias are summed by one thread; the sums are then added in the order of the
// rows.
constexpr std::int64_t kRows = 32;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void check_sizes(const char* operation, std::int64_t columns, std::size_t gain, std::size_t bias) {
  base::check(columns >= 1 && gain == at(columns) && bias == at(columns),
              "{}: rows of {} numbers, gain of {}, bias of {}; all must be equally many and at least one", operation,
              columns, gain, bias);
}

template <class T>
void check_shapes(const char* operation, const ConstMatrix<T>& x, const ConstMatrix<T>& other, std::size_t moments) {
  base::check(other.rows == x.rows && other.columns == x.columns && x.column_stride == 1 && other.column_stride == 1,
              "{}: a [{}, {}] and a [{}, {}] matrix; they must have one shape and rows without gaps", operation, x.rows,
              x.columns, other.rows, other.columns);
  base::check(moments == at(x.rows), "{}: {} rows, {} row statistics; they must be equally many", operation, x.rows,
              moments);
}

// dgain and dbias of every kRows rows stand one after another in a scratch of [pieces, 2 * columns].
template <class T>
void backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> mean, std::span<const T> inverse_deviation,
              const NormGradients<T>& gradients) {
  const bool centred = !mean.empty();
  const std::int64_t columns = x.columns;
  const std::int64_t pieces = (x.rows + kRows - 1) / kRows;
  std::vector<T> sums(at(pieces * 2 * columns));
  base::parallel_for(x.rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    T* dgain = sums.data() + begin / kRows * 2 * columns;
    for (std::int64_t i = begin; i < end; ++i) {
      if (!gradients.add) std::fill_n(gradients.dx.row(i), columns, T{0});
      norm_kernels<T>().backward({x.row(i), gain.data(), columns},
                                 {centred ? mean[at(i)] : T{0}, inverse_deviation[at(i)]}, centred, gradients.dy.row(i),
                                 gradients.dx.row(i), dgain, dgain + columns);
    }
  });
  const ConstMatrix<T> rows = ConstMatrix<T>::dense(sums.data(), pieces, 2 * columns);
  add_column_sums(rows.block(0, 0, pieces, columns), gradients.dgain);
  if (centred) add_column_sums(rows.block(0, columns, pieces, columns), gradients.dbias);
}

}  // namespace

template <class T>
void layer_norm(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> bias, T epsilon, Matrix<T> out,
                std::span<T> mean, std::span<T> inverse_deviation) {
  check_sizes("layer_norm", x.columns, gain.size(), bias.size());
  check_shapes<T>("layer_norm", x, out, mean.size());
  check_shapes<T>("layer_norm", x, out, inverse_deviation.size());
  base::parallel_for(x.rows, rows_per_piece(x.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const NormMoments<T> moments =
          norm_kernels<T>().forward({x.row(i), gain.data(), x.columns}, bias.data(), epsilon, true, out.row(i));
      mean[at(i)] = moments.mean;
      inverse_deviation[at(i)] = moments.inverse_deviation;
    }
  });
}

template <class T>
void layer_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> mean,
                         std::span<const T> inverse_deviation, const NormGradients<T>& gradients) {
  if (x.rows == 0) return;
  check_sizes("layer_norm_backward", x.columns, gradients.dgain.size(), gradients.dbias.size());
  check_sizes("layer_norm_backward", x.columns, gain.size(), gain.size());
  check_shapes<T>("layer_norm_backward", x, gradients.dy, mean.size());
  check_shapes<T>("layer_norm_backward", x, gradients.dx, inverse_deviation.size());
  backward(x, gain, mean, inverse_deviation, gradients);
}

template <class T>
void rms_norm(ConstMatrix<T> x, std::span<const T> gain, T epsilon, Matrix<T> out, std::span<T> inverse_deviation) {
  check_sizes("rms_norm", x.columns, gain.size(), gain.size());
  check_shapes<T>("rms_norm", x, out, inverse_deviation.size());
  base::parallel_for(x.rows, rows_per_piece(x.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      inverse_deviation[at(i)] = norm_kernels<T>()
                                     .forward({x.row(i), gain.data(), x.columns}, nullptr, epsilon, false, out.row(i))
                                     .inverse_deviation;
    }
  });
}

template <class T>
void rms_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> inverse_deviation,
                       const NormGradients<T>& gradients) {
  if (x.rows == 0) return;
  check_sizes("rms_norm_backward", x.columns, gain.size(), gradients.dgain.size());
  check_shapes<T>("rms_norm_backward", x, gradients.dy, inverse_deviation.size());
  check_shapes<T>("rms_norm_backward", x, gradients.dx, inverse_deviation.size());
  backward(x, gain, std::span<const T>(), inverse_deviation, gradients);
}

template void layer_norm(ConstMatrix<float>, std::span<const float>, std::span<const float>, float, Matrix<float>,
                         std::span<float>, std::span<float>);
template void layer_norm(ConstMatrix<double>, std::span<const double>, std::span<const double>, double, Matrix<double>,
                         std::span<double>, std::span<double>);
template void layer_norm_backward(ConstMatrix<float>, std::span<const float>, std::span<const float>,
                                  std::span<const float>, const NormGradients<float>&);
template void layer_norm_backward(ConstMatrix<double>, std::span<const double>, std::span<const double>,
                                  std::span<const double>, const NormGradients<double>&);
template void rms_norm(ConstMatrix<float>, std::span<const float>, float, Matrix<float>, std::span<float>);
template void rms_norm(ConstMatrix<double>, std::span<const double>, double, Matrix<double>, std::span<double>);
template void rms_norm_backward(ConstMatrix<float>, std::span<const float>, std::span<const float>,
                                const NormGradients<float>&);
template void rms_norm_backward(ConstMatrix<double>, std::span<const double>, std::span<const double>,
                                const NormGradients<double>&);
}  // namespace zhuyi::kernels
#endif  // HWY_ONCE
