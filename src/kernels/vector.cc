#include "kernels/vector.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/mask.h"
#include "kernels/serial.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/vector.cc"
#include "hwy/foreach_target.h"
//
#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {
namespace {

template <class T>
void add_serial(const T* x, const T* y, T* out, std::int64_t n) {
  for_lanes(hn::ScalableTag<T>(), n, [&](auto access, std::int64_t i) HWY_ATTR {
    access.store(hn::Add(access.load(x + i), access.load(y + i)), out + i);
  });
}

template <class T>
void add_scaled_serial(T scale, const T* x, T* y, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto factor = hn::Set(d, scale);
  for_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
    access.store(hn::MulAdd(factor, access.load(x + i), access.load(y + i)), y + i);
  });
}

template <class T>
void scale_serial(T factor, T* x, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto factors = hn::Set(d, factor);
  for_lanes(d, n,
            [&](auto access, std::int64_t i) HWY_ATTR { access.store(hn::Mul(factors, access.load(x + i)), x + i); });
}

template <class T>
void multiply_serial(const T* x, const T* y, T* out, std::int64_t n) {
  for_lanes(hn::ScalableTag<T>(), n, [&](auto access, std::int64_t i) HWY_ATTR {
    access.store(hn::Mul(access.load(x + i), access.load(y + i)), out + i);
  });
}

template <class T>
void add_product_serial(const T* x, const T* y, T* out, std::int64_t n) {
  for_lanes(hn::ScalableTag<T>(), n, [&](auto access, std::int64_t i) HWY_ATTR {
    access.store(hn::MulAdd(access.load(x + i), access.load(y + i), access.load(out + i)), out + i);
  });
}

// Numbers as f64 vectors, from either type.
template <class D>
HWY_INLINE hn::Vec<D> in_double(D, hn::Vec<D> v) {
  return v;
}
template <class D>
HWY_INLINE hn::Vec<D> in_double(D d, hn::Vec<hn::Rebind<float, D>> v) {
  return hn::PromoteTo(d, v);
}

template <bool squares, class T>
double sum_serial(const T* x, std::int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> narrow;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto term = [&](auto access, std::int64_t i) HWY_ATTR {
    const auto v = in_double(d, access.load(x + i));
    if constexpr (squares) return hn::Mul(v, v);
    return v;
  };
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  std::int64_t i = 0;
  using Narrow = std::remove_const_t<decltype(narrow)>;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even = hn::Add(even, term(Whole<Narrow>(), i));
    odd = hn::Add(odd, term(Whole<Narrow>(), i + lanes));
  }
  for_lanes(narrow, n - i, [&](auto access, std::int64_t j) HWY_ATTR { even = hn::Add(even, term(access, i + j)); });
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
}

template <class T>
double sum_of_squares_serial(const T* x, std::int64_t n) {
  return sum_serial<true>(x, n);
}

template <class T>
double plain_sum_serial(const T* x, std::int64_t n) {
  return sum_serial<false>(x, n);
}

template <class D, class V>
HWY_INLINE V mix32_lanes(D d, V x) {
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x7feb352du));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<15>(x)), hn::Set(d, 0x846ca68bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// All bits set in the lanes of the elements that are dropped, given the low halves of their numbers: mask.h on vectors.
template <class D>
HWY_INLINE hn::Vec<D> dropped_lanes(D d, const MaskKey& key, hn::Vec<D> low) {
  const auto x = mix32_lanes(d, hn::Xor(low, hn::Set(d, key.first)));
  const auto hash = mix32_lanes(d, hn::Xor(x, hn::Set(d, key.second)));
  return hn::VecFromMask(d, hn::Lt(hash, hn::Set(d, key.threshold)));
}

// The same as a mask over lanes of type float or double.
template <class D, class Low>
HWY_INLINE hn::Mask<D> dropped(D d, const MaskKey& key, Low low) {
  const hn::Rebind<std::uint32_t, D> narrow;
  const auto bits = hn::BitCast(hn::RebindToSigned<decltype(narrow)>(), dropped_lanes(narrow, key, low));
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::MaskFromVec(hn::BitCast(d, bits));
  } else {
    return hn::MaskFromVec(hn::BitCast(d, hn::PromoteTo(hn::RebindToSigned<D>(), bits)));
  }
}

// Calls body(access, i, which lanes are dropped). A piece ends where the high half of the element's number changes.
template <class T, class Body>
HWY_INLINE void for_masked_lanes(const Dropout& dropout, std::int64_t first, std::int64_t n, const Body& body) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<std::uint32_t, decltype(d)> narrow;
  // Highway's Iota passes through memory, so it stands outside the loop.
  const auto lane = hn::Iota(narrow, 0);
  for (std::int64_t begin = 0; begin < n;) {
    const std::int64_t number = first + begin;
    const std::int64_t end = std::min(n, begin + ((std::int64_t{1} << 32) - (number & 0xffffffff)));
    const MaskKey key = mask_key(dropout, number);
    for_lanes(d, end - begin, [&](auto access, std::int64_t i) HWY_ATTR {
      const auto low = hn::Add(lane, hn::Set(narrow, static_cast<std::uint32_t>(number + i)));
      body(access, begin + i, dropped(d, key, low));
    });
    begin = end;
  }
}

template <class T>
void dropout_serial(const Dropout& dropout, std::int64_t first, const T* x, T* out, std::int64_t n) {
  const auto factor = hn::Set(hn::ScalableTag<T>(), static_cast<T>(1 / (1 - dropout.rate)));
  for_masked_lanes<T>(dropout, first, n, [&](auto access, std::int64_t i, auto mask) HWY_ATTR {
    access.store(hn::IfThenZeroElse(mask, hn::Mul(factor, access.load(x + i))), out + i);
  });
}

template <class T>
void add_dropout_serial(const Dropout& dropout, std::int64_t first, const T* x, T* out, std::int64_t n) {
  const auto factor = hn::Set(hn::ScalableTag<T>(), static_cast<T>(1 / (1 - dropout.rate)));
  for_masked_lanes<T>(dropout, first, n, [&](auto access, std::int64_t i, auto mask) HWY_ATTR {
    access.store(hn::MulAdd(factor, hn::IfThenZeroElse(mask, access.load(x + i)), access.load(out + i)), out + i);
  });
}

template <class T>
void adam_serial(const AdamStep& step, const T* gradients, T* moment1, T* moment2, T* parameters, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto constant = [&](double value) HWY_ATTR { return hn::Set(d, static_cast<T>(value)); };
  const auto beta1 = constant(step.beta1);
  const auto beta2 = constant(step.beta2);
  const auto new1 = constant((1 - step.beta1) * step.gradient_scale);
  const auto gradient_scale = constant(step.gradient_scale);
  const auto new2 = constant(1 - step.beta2);
  const auto inverse1 = constant(step.rate / step.correction1);
  const auto inverse2 = constant(1 / step.correction2);
  const auto epsilon = constant(step.epsilon);
  const auto kept = constant(1 - step.rate * step.decay);
  for_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
    const auto g = access.load(gradients + i);
    const auto scaled = hn::Mul(gradient_scale, g);
    const auto m = hn::MulAdd(beta1, access.load(moment1 + i), hn::Mul(new1, g));
    const auto v = hn::MulAdd(beta2, access.load(moment2 + i), hn::Mul(hn::Mul(new2, scaled), scaled));
    const auto denominator = hn::Add(hn::Sqrt(hn::Mul(v, inverse2)), epsilon);
    const auto p = hn::Mul(kept, access.load(parameters + i));
    access.store(m, moment1 + i);
    access.store(v, moment2 + i);
    access.store(hn::Sub(p, hn::Div(hn::Mul(inverse1, m), denominator)), parameters + i);
  });
}

template <class T>
const VectorKernels<T>* vector_table() {
  static constexpr VectorKernels<T> table{
      .add = add_serial<T>,
      .add_scaled = add_scaled_serial<T>,
      .scale = scale_serial<T>,
      .multiply = multiply_serial<T>,
      .add_product = add_product_serial<T>,
      .sum_of_squares = sum_of_squares_serial<T>,
      .sum = plain_sum_serial<T>,
      .dropout = dropout_serial<T>,
      .add_dropout = add_dropout_serial<T>,
      .adam = adam_serial<T>,
  };
  return &table;
}

}  // namespace

const VectorKernels<float>* vector_table_f32() { return vector_table<float>(); }
const VectorKernels<double>* vector_table_f64() { return vector_table<double>(); }

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {

HWY_EXPORT(vector_table_f32);
HWY_EXPORT(vector_table_f64);

template <>
const VectorKernels<float>& vector_kernels() {
  return *HWY_DYNAMIC_DISPATCH(vector_table_f32)();
}
template <>
const VectorKernels<double>& vector_kernels() {
  return *HWY_DYNAMIC_DISPATCH(vector_table_f64)();
}

namespace {

// Elements of one piece of work; pieces of a sum are added in their order.
constexpr std::int64_t kPiece = 16384;

std::int64_t length(std::size_t size, std::initializer_list<std::size_t> others) {
  for (const std::size_t other : others) {
    base::check(other == size, "vector kernel: spans of {} and {} numbers; they must have one length", size, other);
  }
  return static_cast<std::int64_t>(size);
}

template <class Sum>
double in_pieces(std::int64_t n, const Sum& sum) {
  std::vector<double> parts(static_cast<std::size_t>((n + kPiece - 1) / kPiece));
  base::parallel_for(n, kPiece, [&](std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(begin / kPiece)] = sum(begin, end - begin);
  });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

void check_rate(const Dropout& dropout) {
  base::check(dropout.rate >= 0 && dropout.rate < 1, "dropout: rate {}; it must be at least 0 and below 1",
              dropout.rate);
}

}  // namespace

template <class T>
void add(std::span<const T> x, std::span<const T> y, std::span<T> out) {
  base::parallel_for(length(x.size(), {y.size(), out.size()}), kPiece, [&](std::int64_t begin, std::int64_t end) {
    vector_kernels<T>().add(x.data() + begin, y.data() + begin, out.data() + begin, end - begin);
  });
}

template <class T>
void add_scaled(T scale, std::span<const T> x, std::span<T> y) {
  base::parallel_for(length(x.size(), {y.size()}), kPiece, [&](std::int64_t begin, std::int64_t end) {
    vector_kernels<T>().add_scaled(scale, x.data() + begin, y.data() + begin, end - begin);
  });
}

template <class T>
void scale(T factor, std::span<T> x) {
  base::parallel_for(length(x.size(), {}), kPiece, [&](std::int64_t begin, std::int64_t end) {
    vector_kernels<T>().scale(factor, x.data() + begin, end - begin);
  });
}

template <class T>
void multiply(std::span<const T> x, std::span<const T> y, std::span<T> out) {
  base::parallel_for(length(x.size(), {y.size(), out.size()}), kPiece, [&](std::int64_t begin, std::int64_t end) {
    vector_kernels<T>().multiply(x.data() + begin, y.data() + begin, out.data() + begin, end - begin);
  });
}

template <class T>
void add_product(std::span<const T> x, std::span<const T> y, std::span<T> out) {
  base::parallel_for(length(x.size(), {y.size(), out.size()}), kPiece, [&](std::int64_t begin, std::int64_t end) {
    vector_kernels<T>().add_product(x.data() + begin, y.data() + begin, out.data() + begin, end - begin);
  });
}

template <class T>
double sum_of_squares(std::span<const T> x) {
  return in_pieces(length(x.size(), {}), [&](std::int64_t begin, std::int64_t n) {
    return vector_kernels<T>().sum_of_squares(x.data() + begin, n);
  });
}

template <class T>
double sum(std::span<const T> x) {
  return in_pieces(length(x.size(), {}),
                   [&](std::int64_t begin, std::int64_t n) { return vector_kernels<T>().sum(x.data() + begin, n); });
}

bool keeps(const Dropout& dropout, std::int64_t i) {
  const MaskKey key = mask_key(dropout, i);
  return mask_hash(key, static_cast<std::uint32_t>(i)) >= key.threshold;
}

template <class T>
void dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out) {
  check_rate(dropout);
  base::parallel_for(length(x.size(), {out.size()}), kPiece, [&](std::int64_t begin, std::int64_t end) {
    vector_kernels<T>().dropout(dropout, begin, x.data() + begin, out.data() + begin, end - begin);
  });
}

template <class T>
void add_dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out) {
  check_rate(dropout);
  base::parallel_for(length(x.size(), {out.size()}), kPiece, [&](std::int64_t begin, std::int64_t end) {
    vector_kernels<T>().add_dropout(dropout, begin, x.data() + begin, out.data() + begin, end - begin);
  });
}

template <class T>
void residual(const Dropout& dropout, std::span<const T> x, std::span<const T> y, std::span<T> out) {
  check_rate(dropout);
  base::parallel_for(length(x.size(), {y.size(), out.size()}), kPiece, [&](std::int64_t begin, std::int64_t end) {
    // A piece stays in the first-level cache.
    std::copy(x.data() + begin, x.data() + end, out.data() + begin);
    vector_kernels<T>().add_dropout(dropout, begin, y.data() + begin, out.data() + begin, end - begin);
  });
}

template <class T>
void adam(const AdamStep& step, std::span<const T> gradients, std::span<T> moment1, std::span<T> moment2,
          std::span<T> parameters) {
  const std::int64_t n = length(gradients.size(), {moment1.size(), moment2.size(), parameters.size()});
  base::parallel_for(n, kPiece, [&](std::int64_t begin, std::int64_t end) {
    vector_kernels<T>().adam(step, gradients.data() + begin, moment1.data() + begin, moment2.data() + begin,
                             parameters.data() + begin, end - begin);
  });
}

template void add(std::span<const float>, std::span<const float>, std::span<float>);
template void add(std::span<const double>, std::span<const double>, std::span<double>);
template void add_scaled(float, std::span<const float>, std::span<float>);
template void add_scaled(double, std::span<const double>, std::span<double>);
template void scale(float, std::span<float>);
template void scale(double, std::span<double>);
template void multiply(std::span<const float>, std::span<const float>, std::span<float>);
template void multiply(std::span<const double>, std::span<const double>, std::span<double>);
template void add_product(std::span<const float>, std::span<const float>, std::span<float>);
template void add_product(std::span<const double>, std::span<const double>, std::span<double>);
template double sum_of_squares(std::span<const float>);
template double sum_of_squares(std::span<const double>);
template double sum(std::span<const float>);
template double sum(std::span<const double>);
template void dropout(const Dropout&, std::span<const float>, std::span<float>);
template void dropout(const Dropout&, std::span<const double>, std::span<double>);
template void add_dropout(const Dropout&, std::span<const float>, std::span<float>);
template void add_dropout(const Dropout&, std::span<const double>, std::span<double>);
template void residual(const Dropout&, std::span<const float>, std::span<const float>, std::span<float>);
template void residual(const Dropout&, std::span<const double>, std::span<const double>, std::span<double>);
template void adam(const AdamStep&, std::span<const float>, std::span<float>, std::span<float>, std::span<float>);
template void adam(const AdamStep&, std::span<const double>, std::span<double>, std::span<double>, std::span<double>);
}  // namespace zhuyi::kernels
#endif  // HWY_ONCE
