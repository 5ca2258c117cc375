#include "kernels/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The largest |x|; nan when some x is not finite. (As integers, the bits of sizes are in the order of the sizes, and
// those of infinity and nan come last. Four chains of maxima, for one would wait for itself.)
float largest_size(const float* x, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> whole;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto bits = [&](std::int64_t at) { return hn::BitCast(whole, hn::Abs(hn::LoadU(d, x + at))); };
  auto a = hn::Zero(whole), b = a, c = a, e = a;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Max(a, bits(i));
    b = hn::Max(b, bits(i + lanes));
    c = hn::Max(c, bits(i + 2 * lanes));
    e = hn::Max(e, bits(i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Max(a, bits(i));
  std::int32_t largest = hn::GetLane(hn::MaxOfLanes(whole, hn::Max(hn::Max(a, b), hn::Max(c, e))));
  for (; i < n; ++i) largest = std::max(largest, std::bit_cast<std::int32_t>(std::abs(x[i])));
  const auto size = std::bit_cast<float>(largest);
  return std::isfinite(size) ? size : std::numeric_limits<float>::quiet_NaN();
}

// N: 8 or 16 bits.
template <class N>
void quantize(const float* x, std::int64_t n, float factor, N flip, N* to) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Rebind<N, decltype(d)> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, factor);
  const auto flipped = hn::Set(narrow, flip);
  for (; i + lanes <= n; i += lanes) {
    const auto whole = hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), scale));
    hn::StoreU(hn::Xor(hn::DemoteTo(narrow, whole), flipped), narrow, to + i);
  }
#endif
  for (; i < n; ++i) {
    const float scaled = x[i] * factor;
    const auto whole = std::isfinite(scaled) ? static_cast<N>(std::nearbyint(scaled)) : N{0};
    to[i] = static_cast<N>(whole ^ flip);
  }
}

// NOLINTNEXTLINE: one of several definitions, one for each instruction set
void narrow_to_bf16(const float* x, std::int64_t n, Bf16* to) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> u;
  const hn::RebindToSigned<decltype(d)> whole;
  const hn::Rebind<std::uint16_t, decltype(d)> half;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto bits = hn::BitCast(u, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u, 1));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(u, 0x7FFF)));
    const auto finite = hn::RebindMask(u, hn::IsFinite(v));
    const auto quiet = hn::IfThenElseZero(hn::RebindMask(u, hn::IsNaN(v)), hn::Set(u, 0x400000));
    const auto upper = hn::ShiftRight<16>(hn::IfThenElse(finite, rounded, hn::Or(bits, quiet)));
    hn::StoreU(hn::DemoteTo(half, hn::BitCast(whole, upper)), half, &to[i].bits);
  }
#endif
  for (; i < n; ++i) to[i] = to_bf16(x[i]);
}

template <class N>
void quantize_each(ConstMatrix<float> x, N flip, N* to, std::int64_t to_stride) {
  // The sizes of a few rows first: then none waits for the maximum and the quotients of the one before.
  constexpr std::int64_t kTogether = 8;
  for (std::int64_t first = 0; first < x.rows; first += kTogether) {
    const std::int64_t rows = std::min(kTogether, x.rows - first);
    float largest[kTogether];
    for (std::int64_t i = 0; i < rows; ++i) largest[i] = largest_size(x.row(first + i), x.columns);
    for (std::int64_t i = 0; i < rows; ++i, to += to_stride) {
      const Int8Step step(largest[i]);
      quantize(x.row(first + i), x.columns, step.per_unit, flip, to);
      for (std::int64_t j = x.columns; j % 4 != 0; ++j) to[j] = flip;
      std::memcpy(to + to_stride - sizeof step.size / sizeof(N), &step.size, sizeof step.size);
    }
  }
}

// NOLINTNEXTLINE: as above
void quantize_to_8(ConstMatrix<float> x, std::uint8_t flip, std::uint8_t* to, std::int64_t to_stride) {
  quantize_each(x, static_cast<std::int8_t>(flip), reinterpret_cast<std::int8_t*>(to), to_stride);
}

// NOLINTNEXTLINE: as above
void quantize_to_16(ConstMatrix<float> x, std::int16_t* to, std::int64_t to_stride) {
  quantize_each<std::int16_t>(x, 0, to, to_stride);
}

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {
namespace {
HWY_EXPORT(quantize_to_8);
HWY_EXPORT(quantize_to_16);
HWY_EXPORT(narrow_to_bf16);
}  // namespace

void quantize_rows(ConstMatrix<float> x, std::uint8_t flip, std::uint8_t* to, std::int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(quantize_to_8)(x, flip, to, to_stride);
}

void quantize_rows(ConstMatrix<float> x, std::int16_t* to, std::int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(quantize_to_16)(x, to, to_stride);
}

void round_to_bf16(std::span<float> numbers) {
  Bf16 narrow[1024];
  for (std::size_t begin = 0; begin < numbers.size(); begin += std::size(narrow)) {
    const std::span<float> part = numbers.subspan(begin, std::min(numbers.size() - begin, std::size(narrow)));
    to_bf16(part, narrow);
    from_bf16(std::span(narrow).first(part.size()), part);
  }
}

void to_bf16(std::span<const float> numbers, std::span<Bf16> to) {
  HWY_DYNAMIC_DISPATCH(narrow_to_bf16)(numbers.data(), std::ssize(numbers), to.data());
}

void from_bf16(std::span<const Bf16> numbers, std::span<float> to) {
  for (std::size_t i = 0; i < numbers.size(); ++i) to[i] = from_bf16(numbers[i]);
}

}  // namespace zhuyi::kernels
#endif
