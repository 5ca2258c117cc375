#include "kernels/gemm_bf16.h"

#include <algorithm>

#include "kernels/amx_block.h"
#include "kernels/dot_block.h"
#include "kernels/targets.h"

namespace zhuyi::kernels {
namespace {

// The rows of a step of the search, 32 sentences with 4 hypotheses each, are one tile: the weights are read once.
constexpr std::int64_t kTileRows = 144;
// Terms of k in a block: twice as many as in f32, which take as many bytes.
constexpr std::int64_t kDepth = 2 * kBlockDepth;
constexpr std::int64_t kPairs = kDepth / 2;
// Distance of packed rows of a: an odd number of cache lines, so that the rows fall into different cache sets.
constexpr std::int64_t kPackedStride = kPairs + 16;

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

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns.
void transpose(const std::uint32_t* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               std::uint32_t* to, std::int64_t to_stride) {
  std::int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    std::int64_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      const auto* source = reinterpret_cast<const float*>(from + i * from_stride + j);
      auto* out = reinterpret_cast<float*>(to + j * to_stride + i);
      __m128 r0 = _mm_loadu_ps(source);
      __m128 r1 = _mm_loadu_ps(source + from_stride);
      __m128 r2 = _mm_loadu_ps(source + 2 * from_stride);
      __m128 r3 = _mm_loadu_ps(source + 3 * from_stride);
      _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
      _mm_storeu_ps(out, r0);
      _mm_storeu_ps(out + to_stride, r1);
      _mm_storeu_ps(out + 2 * to_stride, r2);
      _mm_storeu_ps(out + 3 * to_stride, r3);
    }
    for (; j < columns; ++j) {
      for (std::int64_t s = i; s < i + 4; ++s) to[j * to_stride + s] = from[s * from_stride + j];
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

std::uint32_t* places(float* packed) { return reinterpret_cast<std::uint32_t*>(packed); }
const std::uint32_t* places(const float* packed) { return reinterpret_cast<const std::uint32_t*>(packed); }

// b [depth, columns] into panels, one after the other, the last one filled up with zeros.
void pack_panels(ConstMatrix<float> b, float* panels) {
  const std::int64_t pairs = (b.rows + 1) / 2;
  for (std::int64_t column = 0; column < b.columns; column += kDotColumns) {
    const std::int64_t width = std::min(kDotColumns, b.columns - column);
    std::uint32_t* panel = places(panels) + column * pairs;
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

// a [rows, depth] into rows that are kPackedStride apart.
void pack_rows(ConstMatrix<float> a, float* packed) {
  if (a.column_stride == 1) {
    for (std::int64_t i = 0; i < a.rows; ++i) pack_along(a.row(i), a.columns, places(packed) + i * kPackedStride);
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
    transpose(columns, 16, pairs, count, places(packed) + row * kPackedStride, kPackedStride);
  }
}

// c = scale * sum + start, start = bias and/or c, for the block that begins at `c`.
struct Finish {
  Matrix<float> c;  // from the block's first element to the end of the tile
  float scale;
  const float* bias;
  bool accumulate;

  void prefetch(int row, int panel) const {
    const std::int64_t column = panel * kDotColumns;
    _mm_prefetch(reinterpret_cast<const char*>(c.row(row) + column), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(c.row(row) + std::min(column + 15, c.columns - 1)), _MM_HINT_T0);
  }
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16"), gnu::always_inline]] inline void operator()(int row, int panel,
                                                                                                     __m512 sum) const {
    const std::int64_t column = panel * kDotColumns;
    const __mmask16 mask = first_lanes(c.columns - column);
    float* out = c.row(row) + column;
    __m512 start = accumulate ? _mm512_maskz_loadu_ps(mask, out) : _mm512_setzero_ps();
    if (bias != nullptr) start = _mm512_add_ps(start, _mm512_maskz_loadu_ps(mask, bias + column));
    _mm512_mask_storeu_ps(out, mask, _mm512_fmadd_ps(_mm512_set1_ps(scale), sum, start));
  }
};

// With AMX the tiles are used for any number of rows: they add in another order than vectors do, and a row's sums must
// not depend on how many rows there are.
template <bool kAmx>
void compute_tile(const GemmTile<float>& tile) {
  const auto multiply = [&](const DotSource& source, std::int64_t rows, std::int64_t panels, const auto& finish_at) {
    if constexpr (kAmx) {
      amx_strips<AmxTiles, Bf16Pairs>(source, rows, panels, finish_at(0, 0));
    } else {
      dot_strips<Bf16Pairs>(source, rows, panels, finish_at);
    }
  };
  alignas(64) std::uint32_t packed_a[kTileRows * kPackedStride];
  alignas(64) std::uint32_t packed_b[8 * kDotColumns * kPairs];
  const std::int64_t k = tile.a.columns;
  const std::int64_t rows = tile.c.rows;
  const std::int64_t panels = panel_count<float>(tile.c.columns);
  for (std::int64_t begin = 0; begin == 0 || begin < k; begin += kDepth) {
    const std::int64_t depth = std::min(kDepth, k - begin);
    DotSource source{.a_row = kPackedStride, .b_panel = (depth + 1) / 2 * kDotColumns, .depth = (depth + 1) / 2};
    if (tile.packed_a != nullptr) {
      source.a = places(tile.packed_a) + begin / kDepth * (kTileRows * kPackedStride);
    } else {
      pack_rows(tile.a.block(0, begin, rows, depth), reinterpret_cast<float*>(packed_a));
      source.a = packed_a;
    }
    const bool first = begin == 0;
    const auto finish_at = [&](std::int64_t column) {
      return [&, column](std::int64_t row, std::int64_t panel) {
        const std::int64_t from = column + panel * kDotColumns;
        return Finish{tile.c.block(row, from, rows - row, tile.c.columns - from), tile.scale,
                      first && tile.bias != nullptr ? tile.bias + from : nullptr, !first || tile.accumulate};
      };
    };
    if (tile.panels.data != nullptr) {
      source.b = places(tile.panels.at(begin, depth, tile.first_panel));
      multiply(source, rows, panels, finish_at(0));
      continue;
    }
    for (std::int64_t panel = 0; panel < panels; panel += 8) {
      const std::int64_t column = panel * kDotColumns;
      const std::int64_t width = std::min(8 * kDotColumns, tile.c.columns - column);
      pack_panels(tile.b.block(begin, column, depth, width), reinterpret_cast<float*>(packed_b));
      source.b = packed_b;
      multiply(source, rows, std::min<std::int64_t>(8, panels - panel), finish_at(column));
    }
  }
}

}  // namespace

GemmKernels<float> bf16_kernels() {
  const auto compute = has_amx() ? compute_tile<true> : compute_tile<false>;
  return {kTileRows, kDepth, 2, kTileRows * kPackedStride, compute, pack_panels, pack_rows};
}

}  // namespace zhuyi::kernels
