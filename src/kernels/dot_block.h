#pragma once
// The innermost loop of products whose terms are multiplied in groups inside 32-bit lanes: two bf16 numbers or four
// 8-bit integers at a time. AVX-512 with BF16 or VNNI; whoever calls it has asked kernels/targets.h first.

#include <immintrin.h>

#include <array>
#include <cstdint>
#include <utility>

#include "kernels/gemm_driver.h"

namespace zhuyi::kernels {

// Two bf16 numbers a lane, summed in f32.
struct Bf16Pairs {
  using Sum = __m512;
  [[gnu::target("avx512f,avx512bf16"), gnu::always_inline]] static inline Sum zero() { return _mm512_setzero_ps(); }
  [[gnu::target("avx512f,avx512bf16"), gnu::always_inline]] static inline Sum dot(Sum sum, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};

// Four 8-bit integers a lane, those of a unsigned, those of b signed, summed in 32-bit integers.
struct ByteQuads {
  // Not __m512i, whose lanes have 64 bits: g++ 12 would keep an array of those in memory.
  using Sum [[gnu::vector_size(64)]] = std::int32_t;
  [[gnu::target("avx512f,avx512vnni"), gnu::always_inline]] static inline Sum zero() {
    return reinterpret_cast<Sum>(_mm512_setzero_si512());
  }
  [[gnu::target("avx512f,avx512vnni"), gnu::always_inline]] static inline Sum dot(Sum sum, __m512i a, __m512i b) {
    return reinterpret_cast<Sum>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), a, b));
  }
};

using DotSource = GemmSource<std::uint32_t>;

// Columns of a panel: one vector.
inline constexpr std::int64_t kDotColumns = 16;
// The block of sums in registers has at most this many rows, and 28 vectors.
inline constexpr int kDotRows = 14;

// The panels that a block of so many rows takes at once: few rows need more of them to keep the pipeline full.
constexpr int dot_panels(std::int64_t rows) { return rows <= 2 ? 8 : rows <= 6 ? 4 : 2; }

// kRows rows of a times kPanels panels of b, the sums in registers; then finish(row, panel, sum) for each;
// finish.prefetch(row, panel) comes first.
template <class Terms, int kRows, int kPanels, class Finish>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16")]] void dot_block(const DotSource& source,
                                                                                           const Finish& finish) {
  typename Terms::Sum sums[kRows][kPanels];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kPanels; ++v) sums[i][v] = Terms::zero();
  }
  // The results are needed only after the loop, and by then what they are added to shall have come from memory.
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kPanels; ++v) finish.prefetch(i, v);
  }
  const std::uint32_t* a = source.a;
  const std::uint32_t* b = source.b;
  for (std::int64_t k = 0; k < source.depth; ++k) {
    __m512i y[kPanels];
#pragma GCC unroll 16
    for (int v = 0; v < kPanels; ++v) {
      y[v] = _mm512_loadu_si512(b + v * source.b_panel);
      _mm_prefetch(reinterpret_cast<const char*>(b + v * source.b_panel + source.ahead), _MM_HINT_T1);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const __m512i x = _mm512_set1_epi32(static_cast<int>(a[i * source.a_row]));
#pragma GCC unroll 16
      for (int v = 0; v < kPanels; ++v) sums[i][v] = Terms::dot(sums[i][v], x, y[v]);
    }
    ++a;
    b += kDotColumns;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kPanels; ++v) finish(i, v, sums[i][v]);
  }
}

template <class Terms, class Finish>
using DotBlock = void (*)(const DotSource& source, const Finish& finish);

template <class Terms, class Finish, int kPanels, int... kIndex>
constexpr std::array<DotBlock<Terms, Finish>, sizeof...(kIndex)> dot_block_list(std::integer_sequence<int, kIndex...>) {
  return {dot_block<Terms, kIndex + 1, kPanels, Finish>...};
}

// The block for `rows` rows, at most kDotRows, and `panels` panels, which is 1, 2, 4 or 8 and at most
// dot_panels(rows).
template <class Terms, class Finish>
DotBlock<Terms, Finish> find_dot_block(std::int64_t rows, std::int64_t panels) {
  static constexpr auto kOne = dot_block_list<Terms, Finish, 1>(std::make_integer_sequence<int, kDotRows>());
  static constexpr auto kTwo = dot_block_list<Terms, Finish, 2>(std::make_integer_sequence<int, kDotRows>());
  static constexpr auto kFour = dot_block_list<Terms, Finish, 4>(std::make_integer_sequence<int, 6>());
  static constexpr auto kEight = dot_block_list<Terms, Finish, 8>(std::make_integer_sequence<int, 2>());
  const auto index = static_cast<std::size_t>(rows - 1);
  return panels == 1 ? kOne[index] : panels == 2 ? kTwo[index] : panels == 4 ? kFour[index] : kEight[index];
}

// All rows times all panels of a block; Finish{source, target} finishes the sums of a part of it.
template <class Terms, class Finish>
void dot_strips(const DotSource& source, const GemmTarget<float>& target) {
  const std::int64_t rows = target.c.rows;
  const std::int64_t height = divide_up(rows, divide_up(rows, kDotRows));
  for_each_strip<kDotColumns>(source, target, kDotRows, dot_panels(height),
                              [](const DotSource& part, const GemmTarget<float>& block, std::int64_t panels) {
                                find_dot_block<Terms, Finish>(block.c.rows, panels)(part, Finish{part, block});
                              });
}

}  // namespace zhuyi::kernels
