#pragma once
// Numbers to fewer bits: rows to 8-bit integers, the left-hand side of products with 8-bit weights; and to bf16.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/matrix.h"

namespace zhuyi::kernels {

// A number of the upper half of an f32's bits: 8 bits of precision, the range of f32.
struct Bf16 {
  std::uint16_t bits = 0;
};

// One step of the 8-bit integers of numbers up to `largest`, and what turns a number into steps. Where a step would be
// less than the smallest normal f32, i.e. largest < 127 * 2^-126 = 1.5e-36, the numbers count as zeros.
struct Int8Step {
  explicit Int8Step(float largest) {
    if (largest < 127 * std::numeric_limits<float>::min()) return;
    size = largest / 127;  // not finite where `largest` is not
    per_unit = 127 / largest;
  }

  float size = 0;
  float per_unit = 0;
};

// Packed rows of 8-bit integers, `to_stride` bytes apart: to[i * to_stride + j] = round(x(i, j) / scale_i), ties to
// even, in [-127, 127], each with the bits of `flip` flipped (0x80 makes it unsigned, 128 more); then `flip` up to a
// multiple of 4 bytes. The last 4 bytes of a row are scale_i, an f32: the step for the largest |x(i, .)|. x has column
// stride 1. The same on every instruction set, bit for bit. A row with a number that is not finite gets a scale that is
// not finite. Uses no threads.
void quantize_rows(ConstMatrix<float> x, std::uint8_t flip, std::uint8_t* to, std::int64_t to_stride);
// The same integers in 16 bits each, none flipped, and rows `to_stride` of them apart.
void quantize_rows(ConstMatrix<float> x, std::int16_t* to, std::int64_t to_stride);

// The nearest bf16, ties to even. Infinity stays infinity; a NaN stays a NaN (the first bit of its fraction is set).
inline Bf16 to_bf16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t quiet = std::isnan(number) ? 0x40 : 0;
  const std::uint32_t rounding = std::isfinite(number) ? 0x7FFF + ((bits >> 16) & 1) : 0;
  return {static_cast<std::uint16_t>(((bits + rounding) >> 16) | quiet)};
}

inline float from_bf16(Bf16 number) { return std::bit_cast<float>(static_cast<std::uint32_t>(number.bits) << 16); }

// The same from one array to another, equally long.
void to_bf16(std::span<const float> numbers, std::span<Bf16> to);
void from_bf16(std::span<const Bf16> numbers, std::span<float> to);

// Rounds every number to the nearest bf16.
void round_to_bf16(std::span<float> numbers);

}  // namespace zhuyi::kernels
