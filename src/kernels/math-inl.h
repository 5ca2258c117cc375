// The functions of analysis that the kernels need, on vectors: e^x, the logistic function, the normal distribution.
// Included once for every instruction set.

#if defined(ZHUYI_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZHUYI_KERNELS_MATH_INL_H_
#undef ZHUYI_KERNELS_MATH_INL_H_
#else
#define ZHUYI_KERNELS_MATH_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// e^x for x <= 0 (and up to 88): 0 below the smallest normal number, NaN for NaN, which Highway's Exp would hide.
// f32: within 2 units in the last place; 2^k times the polynomial of Cephes' expf (Moshier, 1992).
template <class D, class V>
HWY_INLINE V exponential(D d, V x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    const hn::RebindToSigned<D> di;
    // Adding 1.5 * 2^23 rounds to an integer, k, which then stands in the low bits.
    const V shift = hn::Set(d, 12582912.0F);
    const V shifted = hn::MulAdd(x, hn::Set(d, std::numbers::log2e_v<float>), shift);
    const V k = hn::Sub(shifted, shift);
    // ln 2 in two parts, the first short enough that k times it is exact.
    const V r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4F), hn::NegMulAdd(k, hn::Set(d, 0.693359375F), x));
    V p = hn::MulAdd(hn::Set(d, 1.9875691500e-4F), r, hn::Set(d, 1.3981999507e-3F));
    p = hn::MulAdd(p, r, hn::Set(d, 8.3334519073e-3F));
    p = hn::MulAdd(p, r, hn::Set(d, 4.1665795894e-2F));
    p = hn::MulAdd(p, r, hn::Set(d, 1.6666665459e-1F));
    p = hn::MulAdd(p, r, hn::Set(d, 5.0000001201e-1F));
    p = hn::Add(hn::MulAdd(p, hn::Mul(r, r), r), hn::Set(d, 1.0F));
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
    const V power = hn::BitCast(d, hn::Add(exponent, hn::Set(di, 0x3f800000)));
    return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33654F)), hn::Mul(p, power));
  } else {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, x));
  }
}

// 1 / (1 + e^-x) and 1 minus it, both to full relative precision.
template <class V>
struct Logistic {
  V value;
  V rest;
};

template <class D, class V>
HWY_INLINE Logistic<V> logistic(D d, V x) {
  const V one = hn::Set(d, hn::TFromD<D>{1});
  const V e = exponential(d, hn::Neg(hn::Abs(x)));
  const V inverse = hn::Div(one, hn::Add(one, e));
  const V small = hn::Mul(e, inverse);
  const auto negative = hn::Lt(x, hn::Zero(d));
  return {hn::IfThenElse(negative, small, inverse), hn::IfThenElse(negative, inverse, small)};
}

// The standard normal distribution: its density without the factor 1 / sqrt(2 pi), and its integral up to x.
template <class V>
struct Normal {
  V bell;
  V integral;
};

// f32: for |x| < 1, Phi(x) = 1/2 + x p(x^2); beyond, Phi(-t) = e^(-t^2/2) g(1 / (1 + t/4)), where g stands for the
// scaled complementary error function and keeps the tail's relative precision. Polynomials by least squares, weighted
// to even out the relative error (below 1e-8); with rounding, the error is below 1e-7 absolute and 1.5e-6 relative
// for x > -8. f64: erfc, lane by lane.
template <class D, class V>
HWY_INLINE Normal<V> normal(D d, V x) {
  const V bell = exponential(d, hn::Mul(hn::Mul(x, x), hn::Set(d, hn::TFromD<D>(-0.5))));
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    const V one = hn::Set(d, 1.0F);
    const V s = hn::Div(one, hn::MulAdd(hn::Abs(x), hn::Set(d, 0.25F), one));
    V g = hn::MulAdd(hn::Set(d, 0.01658030943F), s, hn::Set(d, -0.06279573375F));
    g = hn::MulAdd(g, s, hn::Set(d, 0.05166071827F));
    g = hn::MulAdd(g, s, hn::Set(d, 0.02842475538F));
    g = hn::MulAdd(g, s, hn::Set(d, 0.01272096229F));
    g = hn::MulAdd(g, s, hn::Set(d, 0.08665205433F));
    g = hn::MulAdd(g, s, hn::Set(d, 0.07200106728F));
    g = hn::MulAdd(g, s, hn::Set(d, 0.09551537160F));
    g = hn::MulAdd(g, s, hn::Set(d, 0.09949259778F));
    g = hn::MulAdd(g, s, hn::Set(d, 0.09974790145F));
    const V tail = hn::Mul(bell, hn::Mul(g, s));
    const V outside = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
    const V u = hn::Mul(x, x);
    V p = hn::MulAdd(hn::Set(d, -7.654222200e-6F), u, hn::Set(d, 1.134864069e-4F));
    p = hn::MulAdd(p, u, hn::Set(d, -1.186329973e-3F));
    p = hn::MulAdd(p, u, hn::Set(d, 9.973323421e-3F));
    p = hn::MulAdd(p, u, hn::Set(d, -6.649035992e-2F));
    p = hn::MulAdd(p, u, hn::Set(d, 3.989422801e-1F));
    const V inside = hn::MulAdd(p, x, hn::Set(d, 0.5F));
    return {bell, hn::IfThenElse(hn::Lt(hn::Abs(x), one), inside, outside)};
  } else {
    HWY_ALIGN double lanes[hn::MaxLanes(D())];
    hn::Store(x, d, lanes);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = std::erfc(-lanes[i] / std::numbers::sqrt2) / 2;
    return {bell, hn::Load(d, lanes)};
  }
}

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
