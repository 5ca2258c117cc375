// Products with 8-bit weights: quantising rows of a, and exact sums of integers with AMX, VNNI (AVX-512 or AVX), AVX2
// and without.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/amx_block.h"
#include "kernels/dot_block.h"
#include "kernels/gemm_driver.h"
#include "kernels/quantize.h"
#include "kernels/targets.h"

namespace zhuyi::kernels {
namespace {

constexpr std::int64_t kQuad = Int8Format::kTerms;
using Source = GemmSource<std::uint32_t>;
using Target = GemmTarget<float>;

template <std::uint8_t kFlip>
void pack_rows(ConstMatrix<float> a, std::uint32_t* rows) {
  quantize_rows(a, kFlip, reinterpret_cast<std::uint8_t*>(rows), Int8Format::row_stride(a.columns) * kQuad);
}

// For AVX2: a quad takes two words, each number 16 bits.
constexpr std::int64_t kWideWords = 2;

void pack_wide_rows(ConstMatrix<float> a, std::uint32_t* rows) {
  quantize_rows(a, reinterpret_cast<std::int16_t*>(rows), Int8Format::row_stride(a.columns, kWideWords) * 2);
}

float row_scale(const Source& source, std::int64_t row) {
  return std::bit_cast<float>(source.a[(row + 1) * source.a_row - 1]);
}

// An element of c from its exact sum. Every instruction set does the same arithmetic. (Inlined, so that code for AVX2
// does the last step with its own instruction.)
[[gnu::always_inline]] inline float finished(const Source& source, const Target& target, std::int64_t i, std::int64_t j,
                                             std::int32_t sum) {
  float start = target.accumulate ? target.c(i, j) : 0.0F;
  if (target.bias != nullptr) start += target.bias[j];
  return std::fma(row_scale(source, i) * target.column_scales[j], static_cast<float>(sum), start);
}

// AVX-512 with VNNI: a is unsigned, 128 more than it should be, so 128 times the column's sum is taken off.
struct FinishQuads {
  const Source& source;
  const Target& target;

  void prefetch(int, int) const {}
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"), gnu::always_inline]] inline void operator()(
      int i, int panel, ByteQuads::Sum lanes) const {
    const std::int64_t j = panel * kDotColumns;
    const std::int64_t left = target.c.columns - j;
    const auto mask = static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1 << left) - 1);
    const auto sum = reinterpret_cast<__m512i>(lanes);
    float* out = target.c.row(i) + j;
    const __m512i more = _mm512_maskz_slli_epi32(mask, _mm512_maskz_loadu_epi32(mask, target.column_sums + j), 7);
    const __m512 exact = _mm512_maskz_cvtepi32_ps(mask, _mm512_sub_epi32(sum, more));
    const __m512 scale =
        _mm512_mul_ps(_mm512_set1_ps(row_scale(source, i)), _mm512_maskz_loadu_ps(mask, target.column_scales + j));
    __m512 start = target.accumulate ? _mm512_maskz_loadu_ps(mask, out) : _mm512_setzero_ps();
    if (target.bias != nullptr) start = _mm512_add_ps(start, _mm512_maskz_loadu_ps(mask, target.bias + j));
    _mm512_mask_storeu_ps(out, mask, _mm512_fmadd_ps(scale, exact, start));
  }
};

// Fewer rows than this fill a tile so badly that vectors are faster. (Integers are exact either way.)
constexpr std::int64_t kAmxRows = 9;

void compute_amx(const Source& source, const Target& target) {
  if (target.c.rows < kAmxRows) return dot_strips<ByteQuads, FinishQuads>(source, target);
  amx_strips<AmxTiles, ByteQuads>(source, target.c.rows, divide_up(target.c.columns, kDotColumns),
                                  FinishQuads{source, target});
}

// Eight sums in 32 bits. (Not __m256i, as in ByteQuads.)
using Sum8 [[gnu::vector_size(32)]] = std::int32_t;

// How far beyond b to prefetch where few rows use it: short panels end before the CPU has seen that they are read in
// order. (Those of two long ones would push each other out of the first-level cache.)
std::int64_t near_ahead(const Source& source) { return source.depth <= 128 ? source.ahead : 0; }

// Elements (i, j) to (i, j + 7) of c, as far as there are, from their sums.
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void finish_eight(const Source& source, const Target& target,
                                                                         std::int64_t i, std::int64_t j, Sum8 sums) {
  if (j + 8 > target.c.columns) {
    for (std::int64_t t = 0; j + t < target.c.columns; ++t) {
      target.c(i, j + t) = finished(source, target, i, j + t, sums[t]);
    }
    return;
  }
  float* out = target.c.row(i) + j;
  const __m256 scale = _mm256_mul_ps(_mm256_set1_ps(row_scale(source, i)), _mm256_loadu_ps(target.column_scales + j));
  __m256 start = target.accumulate ? _mm256_loadu_ps(out) : _mm256_setzero_ps();
  if (target.bias != nullptr) start = _mm256_add_ps(start, _mm256_loadu_ps(target.bias + j));
  const __m256 exact = _mm256_cvtepi32_ps(reinterpret_cast<__m256i>(sums));
  _mm256_storeu_ps(out, _mm256_fmadd_ps(scale, exact, start));
}

// AVX-VNNI: a is unsigned, 128 more than it should be, so 128 times the column's sum is taken off.
template <int kRows, int kPanels>
[[gnu::target("avx2,fma,avxvnni")]] void multiply_avx_vnni(const Source& source, const Target& target) {
  constexpr int kVectors = 2 * kPanels;
  Sum8 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Sum8{};
  }
  const std::uint32_t* a = source.a;
  const std::uint32_t* b = source.b;
  const std::int64_t ahead = near_ahead(source);
  for (std::int64_t k = 0; k < source.depth; ++k, ++a, b += kDotColumns) {
    __m256i y[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      y[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + v / 2 * source.b_panel + v % 2 * 8));
      if (kPanels > 1 && v % 2 == 0) {
        _mm_prefetch(reinterpret_cast<const char*>(b + v / 2 * source.b_panel + ahead), _MM_HINT_T0);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const __m256i x = _mm256_set1_epi32(static_cast<int>(a[i * source.a_row]));
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] = reinterpret_cast<Sum8>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums[i][v]), x, y[v]));
      }
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    Sum8 more{};
    for (std::int64_t t = 0; t < std::min<std::int64_t>(8, target.c.columns - 8 * v); ++t) {
      more[t] = 128 * target.column_sums[8 * v + t];
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) finish_eight(source, target, i, 8 * v, sums[i][v] - more);
  }
}

// A quad of a row of pack_wide_rows, four times over.
[[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256i wide_quad(const Source& source, std::int64_t row,
                                                                         std::int64_t quad) {
  long long numbers = 0;
  std::memcpy(&numbers, source.a + row * source.a_row + quad * kWideWords, sizeof numbers);
  return _mm256_set1_epi64x(numbers);
}

// AVX2, one or two rows: |a| times b with the sign of a. Two products of at most 127 * 127 fit 16 bits, so nothing
// saturates.
template <int kRows, int kPanels>
[[gnu::target("avx2,fma")]] void multiply_signs(const Source& source, const Target& target) {
  constexpr int kVectors = 2 * kPanels;
  Sum8 sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Sum8{};
  }
  const __m256i ones = _mm256_set1_epi16(1);
  const std::int64_t ahead = near_ahead(source);
  for (std::int64_t k = 0; k < source.depth; ++k) {
    const std::uint32_t* b = source.b + k * kDotColumns;
    __m256i y[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      y[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + v / 2 * source.b_panel + v % 2 * 8));
      if (kPanels > 1 && v % 2 == 0) {
        _mm_prefetch(reinterpret_cast<const char*>(b + v / 2 * source.b_panel + ahead), _MM_HINT_T0);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const __m256i wide = wide_quad(source, i, k);
      const __m256i x = _mm256_packs_epi16(wide, wide);
      const __m256i size = _mm256_abs_epi8(x);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(y[v], x));
        sums[i][v] += reinterpret_cast<Sum8>(_mm256_madd_epi16(pairs, ones));
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) finish_eight(source, target, i, 8 * v, sums[i][v]);
  }
}

// AVX2, more rows: products of 16 bits. b is widened as it comes, once for all rows, half a panel at a time; a column
// has two sums, of the first two and the last two terms of each quad.
template <int kRows>
[[gnu::target("avx2,fma")]] void multiply_wide(const Source& source, const Target& target) {
  for (std::int64_t j = 0; j < std::min(target.c.columns, kDotColumns); j += 8) {
    Sum8 sums[kRows][2];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = Sum8{};
    for (std::int64_t k = 0; k < source.depth; ++k) {
      const auto* b = reinterpret_cast<const __m128i*>(source.b + k * kDotColumns + j);
      const __m256i y0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(b));
      const __m256i y1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(b + 1));
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const __m256i x = wide_quad(source, i, k);
        sums[i][0] += reinterpret_cast<Sum8>(_mm256_madd_epi16(x, y0));
        sums[i][1] += reinterpret_cast<Sum8>(_mm256_madd_epi16(x, y1));
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const __m256i both =
          _mm256_hadd_epi32(reinterpret_cast<__m256i>(sums[i][0]), reinterpret_cast<__m256i>(sums[i][1]));
      finish_eight(source, target, i, j, reinterpret_cast<Sum8>(_mm256_permute4x64_epi64(both, 0xD8)));
    }
  }
}

using Kernel = void (*)(const Source& source, const Target& target);

void compute_avx_vnni(const Source& source, const Target& target) {
  constexpr Kernel kOne[] = {multiply_avx_vnni<1, 1>, multiply_avx_vnni<2, 1>, multiply_avx_vnni<3, 1>,
                             multiply_avx_vnni<4, 1>, multiply_avx_vnni<5, 1>, multiply_avx_vnni<6, 1>};
  constexpr Kernel kTwo[] = {multiply_avx_vnni<1, 2>, multiply_avx_vnni<2, 2>, multiply_avx_vnni<3, 2>};
  for_each_strip<kDotColumns>(source, target, std::ssize(kOne), target.c.rows <= std::ssize(kTwo) ? 2 : 1,
                              [&](const Source& part, const Target& block, std::int64_t panels) {
                                (panels == 1 ? kOne : kTwo)[block.c.rows - 1](part, block);
                              });
}

void compute_avx2(const Source& source, const Target& target) {
  constexpr Kernel kOne[] = {multiply_signs<1, 1>, multiply_signs<2, 1>, multiply_wide<3>,
                             multiply_wide<4>,     multiply_wide<5>,     multiply_wide<6>};
  constexpr Kernel kTwo[] = {multiply_signs<1, 2>, multiply_signs<2, 2>};
  for_each_strip<kDotColumns>(source, target, std::ssize(kOne), target.c.rows <= std::ssize(kTwo) ? 2 : 1,
                              [&](const Source& part, const Target& block, std::int64_t panels) {
                                (panels == 1 ? kOne : kTwo)[block.c.rows - 1](part, block);
                              });
}

void compute_plain(const Source& source, const Target& target) {
  for (std::int64_t j = 0; j < target.c.columns; ++j) {
    const auto* b = reinterpret_cast<const std::int8_t*>(source.b + j / kDotColumns * source.b_panel + j % kDotColumns);
    for (std::int64_t i = 0; i < target.c.rows; ++i) {
      const auto* a = reinterpret_cast<const std::int8_t*>(source.a + i * source.a_row);
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < source.depth; ++k) {
        for (std::int64_t t = 0; t < kQuad; ++t) sum += a[k * kQuad + t] * b[k * kDotColumns * kQuad + t];
      }
      target.c(i, j) = finished(source, target, i, j, sum);
    }
  }
}

}  // namespace

GemmCode<Int8Format> gemm_code(Int8Format) {
  constexpr std::int64_t kRows = Int8Format::kTileRows;
  if (has_amx()) return {kRows, 0, nullptr, pack_rows<0x80>, compute_amx};
  if (has_vnni()) return {kRows, 0, nullptr, pack_rows<0x80>, dot_strips<ByteQuads, FinishQuads>};
  if (has_avx_vnni()) return {kRows, 0, nullptr, pack_rows<0x80>, compute_avx_vnni};
  if (current_target() == "SSE2") return {kRows, 0, nullptr, pack_rows<0>, compute_plain};
  return {kRows / 2, 0, nullptr, pack_wide_rows, compute_avx2, kWideWords};
}

}  // namespace zhuyi::kernels
