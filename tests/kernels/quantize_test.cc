// Numbers to bf16: what IEEE 754's rounding to nearest says of their bits, on every instruction set.

#include "kernels/quantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/numbers.h"

namespace zhuyi::kernels {
namespace {

struct Rounding {
  std::uint32_t from;  // bits of an f32
  std::uint16_t to;    // bits of the nearest bf16
};

constexpr Rounding kRoundings[] = {
    {0x3F800000, 0x3F80},  // 1
    {0x3F808000, 0x3F80},  // half way, down to the even one
    {0x3F808001, 0x3F81},  // just above half way
    {0x3F818000, 0x3F82},  // half way, up to the even one
    {0xBF818000, 0xBF82},  // and its negative
    {0x3F80FFFF, 0x3F81},  // a carry within the fraction
    {0x3FFFFFFF, 0x4000},  // a carry into the exponent
    {0x00000000, 0x0000},  // 0
    {0x80000000, 0x8000},  // -0
    {0x00008001, 0x0001},  // subnormal
    {0x7F7FFFFF, 0x7F80},  // the largest f32 is nearer to what would come after the largest bf16
    {0x7F800000, 0x7F80},  // infinity
    {0xFF800000, 0xFF80},  // -infinity
};

TEST(Bf16, IsTheNearestAndEvenOfTwo) {
  on_every_target([](const std::string& target) {
    for (const Rounding& rounding : kRoundings) {
      // 35 of them: whole vectors and a rest, whatever the width.
      const std::vector<float> numbers(35, std::bit_cast<float>(rounding.from));
      std::vector<Bf16> narrow(numbers.size());
      to_bf16(numbers, narrow);
      std::vector<float> rounded = numbers;
      round_to_bf16(rounded);
      std::vector<float> wide(numbers.size());
      from_bf16(narrow, wide);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        ASSERT_EQ(narrow[i].bits, rounding.to) << target << ", " << std::hex << rounding.from << ", number " << i;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), std::uint32_t{rounding.to} << 16) << target;
        ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::uint32_t{rounding.to} << 16) << target;
        ASSERT_EQ(to_bf16(numbers[i]).bits, rounding.to) << std::hex << rounding.from;
      }
    }
  });
}

TEST(Bf16, NotANumberStaysSo) {
  on_every_target([](const std::string& target) {
    // The fraction of the second lies in the lower half alone, which goes.
    for (const std::uint32_t bits : {0x7FC00000U, 0x7F800001U, 0xFFFFFFFFU}) {
      std::vector<float> numbers(35, std::bit_cast<float>(bits));
      round_to_bf16(numbers);
      for (const float number : numbers) ASSERT_TRUE(std::isnan(number)) << target << ", " << std::hex << bits;
    }
  });
}

}  // namespace
}  // namespace zhuyi::kernels
