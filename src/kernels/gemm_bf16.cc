// Products whose terms are rounded to bf16: packing and the finishing of sums for AVX512-BF16 and AMX.

#include <algorithm>

#include "kernels/amx_block.h"
#include "kernels/dot_block.h"
#include "kernels/gemm_driver.h"
#include "kernels/targets.h"
#include "kernels/transpose.h"

namespace zhuyi::kernels {
namespace {

constexpr std::int64_t kPairs = Bf16Format::kDepth / 2;
constexpr std::int64_t kRowStride = Bf16Format::row_stride(Bf16Format::kDepth);

// The first `count` lanes of 16.
__mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : (1 << std::max<std::int64_t>(count, 0)) - 1);
}

// Terms that lie next to each other in memory: `count` f32 numbers from `from` become (count + 1) / 2 pairs.
[[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]] void pack_along(const float* from, std::int64_t count,
                                                                        std::uint32_t* to) {
  std::int64_t k = 0;
  for (; k + 32 <= count; k += 32) {
    const __m512bh pairs = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + k + 16), _mm512_loadu_ps(from + k));
    _mm512_storeu_si512(to + k / 2, reinterpret_cast<__m512i>(pairs));
  }
  if (k == count) return;
  const __m512 low = _mm512_maskz_loadu_ps(first_lanes(count - k), from + k);
  const __m512 high = _mm512_maskz_loadu_ps(first_lanes(count - k - 16), from + k + 16);
  const __m512bh pairs = _mm512_cvtne2ps_pbh(high, low);
  _mm512_mask_storeu_epi32(to + k / 2, first_lanes((count - k + 1) / 2), reinterpret_cast<__m512i>(pairs));
}

// Terms that lie in two rows: to[i] = (even[i], odd[i]) for i < count, at most 16; without `odd` beside zeros.
[[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]] void pack_across(const float* even, const float* odd,
                                                                         std::int64_t count, std::uint32_t* to) {
  const __mmask16 mask = first_lanes(count);
  const __m512 low = _mm512_maskz_loadu_ps(mask, even);
  const __m512 high = odd != nullptr ? _mm512_maskz_loadu_ps(mask, odd) : _mm512_setzero_ps();
  const auto halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
  // Lanes 0, 16, 1, 17, ... of 32.
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  _mm512_mask_storeu_epi32(to, mask, _mm512_permutexvar_epi16(order, halves));
}

// b [depth, columns] into panels, one after the other, the last one filled up with zeros.
void pack_panels(ConstMatrix<float> b, std::uint32_t* panels) {
  const std::int64_t pairs = (b.rows + 1) / 2;
  for (std::int64_t column = 0; column < b.columns; column += kDotColumns) {
    const std::int64_t width = std::min(kDotColumns, b.columns - column);
    std::uint32_t* panel = panels + column * pairs;
    if (width < kDotColumns) std::fill_n(panel, kDotColumns * pairs, 0U);
    if (b.column_stride == 1) {
      for (std::int64_t k = 0; k < b.rows; k += 2) {
        const float* odd = k + 1 < b.rows ? b.row(k + 1) + column : nullptr;
        pack_across(b.row(k) + column, odd, width, panel + k / 2 * kDotColumns);
      }
    } else {
      std::uint32_t rows[kDotColumns * kPairs];
      for (std::int64_t j = 0; j < width; ++j) {
        pack_along(b.data + (column + j) * b.column_stride, b.rows, rows + j * kPairs);
      }
      transpose(rows, kPairs, width, pairs, panel, kDotColumns);
    }
  }
}

// a [rows, depth] into rows that are kRowStride apart.
void pack_rows(ConstMatrix<float> a, std::uint32_t* packed) {
  if (a.column_stride == 1) {
    for (std::int64_t i = 0; i < a.rows; ++i) pack_along(a.row(i), a.columns, packed + i * kRowStride);
    return;
  }
  const std::int64_t pairs = (a.columns + 1) / 2;
  for (std::int64_t row = 0; row < a.rows; row += 16) {
    const std::int64_t count = std::min<std::int64_t>(16, a.rows - row);
    std::uint32_t columns[kPairs * 16];
    for (std::int64_t k = 0; k < a.columns; k += 2) {
      const float* even = a.data + row + k * a.column_stride;
      pack_across(even, k + 1 < a.columns ? even + a.column_stride : nullptr, count, columns + k / 2 * 16);
    }
    transpose(columns, 16, pairs, count, packed + row * kRowStride, kRowStride);
  }
}

// c = scale * sum + start, start = bias and/or c.
struct Finish {
  const DotSource& source;
  const GemmTarget<float>& target;

  void prefetch(int row, int panel) const {
    const std::int64_t column = panel * kDotColumns;
    _mm_prefetch(reinterpret_cast<const char*>(target.c.row(row) + column), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(target.c.row(row) + std::min(column + 15, target.c.columns - 1)),
                 _MM_HINT_T0);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16"), gnu::always_inline]] inline void operator()(int row, int panel,
                                                                                                     __m512 sum) const {
    const std::int64_t column = panel * kDotColumns;
    const __mmask16 mask = first_lanes(target.c.columns - column);
    float* out = target.c.row(row) + column;
    __m512 start = target.accumulate ? _mm512_maskz_loadu_ps(mask, out) : _mm512_setzero_ps();
    if (target.bias != nullptr) start = _mm512_add_ps(start, _mm512_maskz_loadu_ps(mask, target.bias + column));
    _mm512_mask_storeu_ps(out, mask, _mm512_fmadd_ps(_mm512_set1_ps(target.scale), sum, start));
  }
};

void compute_amx(const DotSource& source, const GemmTarget<float>& target) {
  amx_strips<AmxTiles, Bf16Pairs>(source, target.c.rows, divide_up(target.c.columns, kDotColumns),
                                  Finish{source, target});
}

}  // namespace

// With AMX the tiles are used for any number of rows: they add in another order than vectors do, and a row's sums must
// not depend on how many rows there are.
GemmCode<Bf16Format> gemm_code(Bf16Format) {
  return {Bf16Format::kTileRows, 0, pack_panels, pack_rows, has_amx() ? compute_amx : dot_strips<Bf16Pairs, Finish>};
}

}  // namespace zhuyi::kernels
