#include "kernels/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The largest |x|; nan when some x is.
float largest_size(const float* x, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto largest = hn::Zero(d);
  auto sum = hn::Zero(d);  // of 0 x: nan when some x is not finite
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    largest = hn::Max(largest, hn::Abs(v));
    sum = hn::MulAdd(hn::Zero(d), v, sum);
  }
  float result = hn::GetLane(hn::MaxOfLanes(d, largest));
  float rest = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) {
    result = std::max(result, std::abs(x[i]));
    rest += 0 * x[i];
  }
  return result + rest;
}

void quantize(const float* x, std::int64_t n, float factor, std::uint8_t flip, std::uint8_t* to) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::int8_t, decltype(d)> narrow;
  const hn::Rebind<std::int16_t, decltype(d)> middle;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto flipped = hn::Set(narrow, static_cast<std::int8_t>(flip));
  for (; i + lanes <= n; i += lanes) {
    const auto whole = hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)));
    const auto bytes = hn::DemoteTo(narrow, hn::DemoteTo(middle, whole));
    hn::StoreU(hn::Xor(bytes, flipped), narrow, reinterpret_cast<std::int8_t*>(to) + i);
  }
#endif
  for (; i < n; ++i) {
    const float scaled = x[i] * factor;
    const auto whole = std::isfinite(scaled) ? static_cast<std::int8_t>(std::nearbyint(scaled)) : std::int8_t{0};
    to[i] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(whole) ^ flip);
  }
}

// NOLINTNEXTLINE: one of several definitions, one for each instruction set
void quantize_all(ConstMatrix<float> x, std::uint8_t flip, std::uint8_t* to, std::int64_t to_stride, float* scales) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const float largest = largest_size(x.row(i), x.columns);
    scales[i] = largest / 127;
    quantize(x.row(i), x.columns, largest > 0 ? 127 / largest : 0, flip, to + i * to_stride);
    std::fill(to + i * to_stride + x.columns, to + (i + 1) * to_stride, flip);
  }
}

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {
namespace {
HWY_EXPORT(quantize_all);
}  // namespace

void quantize_rows(ConstMatrix<float> x, std::uint8_t flip, std::uint8_t* to, std::int64_t to_stride, float* scales) {
  HWY_DYNAMIC_DISPATCH(quantize_all)(x, flip, to, to_stride, scales);
}

namespace {

// The upper half of the bits, rounded. A number that is not finite keeps its own; a NaN has the first of its fraction
// set, so that it stays one.
std::uint16_t nearest_bf16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t quiet = std::isnan(number) ? 0x40 : 0;
  const std::uint32_t rounding = std::isfinite(number) ? 0x7FFF + ((bits >> 16) & 1) : 0;
  return static_cast<std::uint16_t>(((bits + rounding) >> 16) | quiet);
}

float number_of(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace

void round_to_bf16(std::span<float> numbers) {
  for (float& number : numbers) number = number_of(nearest_bf16(number));
}

void to_bf16(std::span<const float> numbers, std::span<Bf16> to) {
  for (std::size_t i = 0; i < numbers.size(); ++i) to[i].bits = nearest_bf16(numbers[i]);
}

void from_bf16(std::span<const Bf16> numbers, std::span<float> to) {
  for (std::size_t i = 0; i < numbers.size(); ++i) to[i] = number_of(numbers[i].bits);
}

}  // namespace zhuyi::kernels
#endif
