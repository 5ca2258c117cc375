#pragma once
// Numbers to fewer bits: rows to 8-bit integers, the left-hand side of products with 8-bit weights; and to bf16.

#include <cstdint>
#include <span>

#include "kernels/matrix.h"

namespace zhuyi::kernels {

// A number of the upper half of an f32's bits: 8 bits of precision, the range of f32.
struct Bf16 {
  std::uint16_t bits = 0;
};

// to[i * to_stride + j] = round(x(i, j) / scale_i), ties to even, in [-127, 127], each with the bits of `flip` flipped
// (0x80 makes it unsigned, 128 more); scales[i] = scale_i = largest |x(i, .)| / 127. Places from x.columns to
// `to_stride` hold `flip`. x has column stride 1. The same on every instruction set, bit for bit. A row with a number
// that is not finite gets a scale that is not finite. Uses no threads.
void quantize_rows(ConstMatrix<float> x, std::uint8_t flip, std::uint8_t* to, std::int64_t to_stride, float* scales);

// Rounds every number to the nearest bf16, ties to even; one that is not finite stays as it is.
void round_to_bf16(std::span<float> numbers);

// The same from one array to another, equally long.
void to_bf16(std::span<const float> numbers, std::span<Bf16> to);
void from_bf16(std::span<const Bf16> numbers, std::span<float> to);

}  // namespace zhuyi::kernels
