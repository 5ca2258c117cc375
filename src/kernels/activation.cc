#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/serial.h"
#include "kernels/vector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cc"
#include "hwy/foreach_target.h"
//
#include "kernels/lanes-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {
namespace {

template <class D, class V>
HWY_INLINE V silu(D d, V x) {
  return hn::Mul(x, logistic(d, x).value);
}

// s + x s (1 - s), s = sigmoid(x).
template <class D, class V>
HWY_INLINE V silu_slope(D d, V x) {
  const auto s = logistic(d, x);
  return hn::MulAdd(hn::Mul(x, s.value), s.rest, s.value);
}

// Phi(x) + x phi(x).
template <class D, class V>
HWY_INLINE V gelu_slope(D d, V x) {
  using T = hn::TFromD<D>;
  constexpr T factor = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
  const auto p = normal(d, x);
  return hn::MulAdd(hn::Mul(x, hn::Set(d, factor)), p.bell, p.integral);
}

template <class T>
void activate_serial(Activation activation, const T* x, T* out, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto each = [&](auto function) HWY_ATTR {
    for_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR { access.store(function(access.load(x + i)), out + i); });
  };
  switch (activation) {
    case Activation::identity:
      return each([](auto v) HWY_ATTR { return v; });
    case Activation::relu:
      return each([&](auto v) HWY_ATTR { return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v); });
    case Activation::gelu:
      return each([&](auto v) HWY_ATTR { return hn::Mul(v, normal(d, v).integral); });
    case Activation::silu:
      return each([&](auto v) HWY_ATTR { return silu(d, v); });
  }
}

template <class T>
void activate_backward_serial(Activation activation, const T* x, const T* dy, T* dx, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto each = [&](auto slope) HWY_ATTR {
    for_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
      access.store(hn::MulAdd(access.load(dy + i), slope(access.load(x + i)), access.load(dx + i)), dx + i);
    });
  };
  const auto one = hn::Set(d, T{1});
  switch (activation) {
    case Activation::identity:
      return each([&](auto) HWY_ATTR { return one; });
    case Activation::relu:
      return each([&](auto v) HWY_ATTR { return hn::IfThenElseZero(hn::Gt(v, hn::Zero(d)), one); });
    case Activation::gelu:
      return each([&](auto v) HWY_ATTR { return gelu_slope(d, v); });
    case Activation::silu:
      return each([&](auto v) HWY_ATTR { return silu_slope(d, v); });
  }
}

template <class T>
const ActivationKernels<T>* activation_table() {
  static constexpr ActivationKernels<T> table{.activate = activate_serial<T>,
                                              .activate_backward = activate_backward_serial<T>};
  return &table;
}

}  // namespace

const ActivationKernels<float>* activation_table_f32() { return activation_table<float>(); }
const ActivationKernels<double>* activation_table_f64() { return activation_table<double>(); }

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {

HWY_EXPORT(activation_table_f32);
HWY_EXPORT(activation_table_f64);

template <>
const ActivationKernels<float>& activation_kernels() {
  return *HWY_DYNAMIC_DISPATCH(activation_table_f32)();
}
template <>
const ActivationKernels<double>& activation_kernels() {
  return *HWY_DYNAMIC_DISPATCH(activation_table_f64)();
}

namespace {

// Elements of one piece of work.
constexpr std::int64_t kPiece = 8192;

}  // namespace

template <class T>
void activate(Activation activation, std::span<const T> x, std::span<T> out) {
  base::check(x.size() == out.size(), "activate: {} numbers in, {} out; they must be equally many", x.size(),
              out.size());
  base::parallel_for(static_cast<std::int64_t>(x.size()), kPiece, [&](std::int64_t begin, std::int64_t end) {
    activation_kernels<T>().activate(activation, x.data() + begin, out.data() + begin, end - begin);
  });
}

template <class T>
void activate_backward(Activation activation, std::span<const T> x, std::span<const T> dy, std::span<T> dx, bool add) {
  base::check(x.size() == dy.size() && x.size() == dx.size(),
              "activate_backward: {} values, {} and {} gradients; they must be equally many", x.size(), dy.size(),
              dx.size());
  base::parallel_for(static_cast<std::int64_t>(x.size()), kPiece, [&](std::int64_t begin, std::int64_t end) {
    // In pieces that stay in the cache, zeros cost nothing.
    if (!add) std::fill(dx.data() + begin, dx.data() + end, T{0});
    activation_kernels<T>().activate_backward(activation, x.data() + begin, dy.data() + begin, dx.data() + begin,
                                              end - begin);
  });
}

template void activate(Activation, std::span<const float>, std::span<float>);
template void activate(Activation, std::span<const double>, std::span<double>);
template void activate_backward(Activation, std::span<const float>, std::span<const float>, std::span<float>, bool);
template void activate_backward(Activation, std::span<const double>, std::span<const double>, std::span<double>, bool);
}  // namespace zhuyi::kernels
#endif  // HWY_ONCE
