#include "kernels/gemm_int8.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/amx_block.h"
#include "kernels/dot_block.h"
#include "kernels/quantize.h"
#include "kernels/targets.h"

namespace zhuyi::kernels {
namespace {

constexpr std::int64_t kQuad = 4;
constexpr std::int64_t kPanelBytes = kDotColumns * kQuad;  // of four terms of k
// Rows of a that a tile takes: they fill part of the second-level cache, and each tile reads all of b.
constexpr std::int64_t kTileRows = 256;
// Below this many multiply-adds a second thread costs more than it saves.
constexpr std::int64_t kParallelWork = 1'000'000;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// One piece of a product: rows and panels of whole columns.
struct Tile {
  const std::uint8_t* a;  // quantised rows
  std::int64_t a_stride;
  const float* a_scales;
  const std::int8_t* panels;  // of b, from the first that is meant on
  std::int64_t quads;         // of k
  const float* b_scales;      // [columns of c], likewise
  const std::int32_t* b_sums;
  const float* bias;  // or nullptr
  bool accumulate;
  Matrix<float> c;
};

// An element of c from its exact sum. Every instruction set does the same arithmetic. (Inlined, so that code for AVX2
// does the last step with its own instruction.)
[[gnu::always_inline]] inline float finished(const Tile& tile, std::int64_t i, std::int64_t j, std::int32_t sum) {
  float start = tile.accumulate ? tile.c(i, j) : 0.0F;
  if (tile.bias != nullptr) start += tile.bias[j];
  return std::fma(tile.a_scales[i] * tile.b_scales[j], static_cast<float>(sum), start);
}

// AVX-512 with VNNI: a is unsigned, 128 more than it should be, so 128 times the column's sum is taken off.
struct FinishQuads {
  const Tile* tile;
  std::int64_t row;
  std::int64_t column;

  void prefetch(int, int) const {}
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"), gnu::always_inline]] inline void operator()(
      int i, int panel, ByteQuads::Sum lanes) const {
    const std::int64_t j = column + panel * kDotColumns;
    const std::int64_t left = tile->c.columns - j;
    const auto mask = static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1 << left) - 1);
    const auto sum = reinterpret_cast<__m512i>(lanes);
    float* out = tile->c.row(row + i) + j;
    const __m512i more = _mm512_maskz_slli_epi32(mask, _mm512_maskz_loadu_epi32(mask, tile->b_sums + j), 7);
    const __m512 exact = _mm512_maskz_cvtepi32_ps(mask, _mm512_sub_epi32(sum, more));
    const __m512 scale =
        _mm512_mul_ps(_mm512_set1_ps(tile->a_scales[row + i]), _mm512_maskz_loadu_ps(mask, tile->b_scales + j));
    __m512 start = tile->accumulate ? _mm512_maskz_loadu_ps(mask, out) : _mm512_setzero_ps();
    if (tile->bias != nullptr) start = _mm512_add_ps(start, _mm512_maskz_loadu_ps(mask, tile->bias + j));
    _mm512_mask_storeu_ps(out, mask, _mm512_fmadd_ps(scale, exact, start));
  }
};

// Fewer rows than this fill a tile so badly that vectors are faster. (Integers are exact either way.)
constexpr std::int64_t kAmxRows = 9;

void compute_amx(const Tile& tile) {
  const DotSource source{reinterpret_cast<const std::uint32_t*>(tile.a),
                         reinterpret_cast<const std::uint32_t*>(tile.panels), tile.a_stride / kQuad,
                         tile.quads * kDotColumns, tile.quads};
  amx_strips<AmxTiles, ByteQuads>(source, tile.c.rows, divide_up(tile.c.columns, kDotColumns),
                                  FinishQuads{&tile, 0, 0});
}

void compute_vnni(const Tile& tile) {
  const DotSource source{reinterpret_cast<const std::uint32_t*>(tile.a),
                         reinterpret_cast<const std::uint32_t*>(tile.panels), tile.a_stride / kQuad,
                         tile.quads * kDotColumns, tile.quads};
  dot_strips<ByteQuads>(source, tile.c.rows, divide_up(tile.c.columns, kDotColumns),
                        [&](std::int64_t row, std::int64_t panel) {
                          return FinishQuads{&tile, row, panel * kDotColumns};
                        });
}

// AVX2: |a| times b with the sign of a. Two products of at most 127 * 127 fit 16 bits, so nothing saturates.
template <int kRows>
[[gnu::target("avx2,fma")]] void multiply_avx2(const Tile& tile, std::int64_t row, std::int64_t column,
                                               const std::int8_t* panel) {
  __m256i sums[kRows][2];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi16(1);
  for (std::int64_t k = 0; k < tile.quads; ++k) {
    const auto* b = reinterpret_cast<const __m256i*>(panel + k * kPanelBytes);
    const __m256i b0 = _mm256_loadu_si256(b);
    const __m256i b1 = _mm256_loadu_si256(b + 1);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      std::int32_t quad = 0;
      std::memcpy(&quad, tile.a + (row + i) * tile.a_stride + k * kQuad, sizeof quad);
      const __m256i x = _mm256_set1_epi32(quad);
      const __m256i size = _mm256_abs_epi8(x);
      const __m256i p0 = _mm256_maddubs_epi16(size, _mm256_sign_epi8(b0, x));
      const __m256i p1 = _mm256_maddubs_epi16(size, _mm256_sign_epi8(b1, x));
      sums[i][0] = _mm256_add_epi32(sums[i][0], _mm256_madd_epi16(p0, ones));
      sums[i][1] = _mm256_add_epi32(sums[i][1], _mm256_madd_epi16(p1, ones));
    }
  }
  const std::int64_t width = std::min(kDotColumns, tile.c.columns - column);
  for (int i = 0; i < kRows; ++i) {
    alignas(32) std::int32_t whole[kDotColumns];
    _mm256_store_si256(reinterpret_cast<__m256i*>(whole), sums[i][0]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(whole) + 1, sums[i][1]);
    for (std::int64_t j = 0; j < width; ++j) {
      tile.c(row + i, column + j) = finished(tile, row + i, column + j, whole[j]);
    }
  }
}

void compute_avx2(const Tile& tile) {
  for (std::int64_t column = 0; column < tile.c.columns; column += kDotColumns) {
    const std::int8_t* panel = tile.panels + column / kDotColumns * tile.quads * kPanelBytes;
    std::int64_t row = 0;
    for (; row + 4 <= tile.c.rows; row += 4) multiply_avx2<4>(tile, row, column, panel);
    for (; row < tile.c.rows; ++row) multiply_avx2<1>(tile, row, column, panel);
  }
}

void compute_plain(const Tile& tile) {
  for (std::int64_t j = 0; j < tile.c.columns; ++j) {
    const std::int8_t* panel = tile.panels + j / kDotColumns * tile.quads * kPanelBytes + j % kDotColumns * kQuad;
    for (std::int64_t i = 0; i < tile.c.rows; ++i) {
      const auto* a = reinterpret_cast<const std::int8_t*>(tile.a + i * tile.a_stride);
      std::int32_t sum = 0;
      for (std::int64_t k = 0; k < tile.quads; ++k) {
        for (std::int64_t t = 0; t < kQuad; ++t) sum += a[k * kQuad + t] * panel[k * kPanelBytes + t];
      }
      tile.c(i, j) = finished(tile, i, j, sum);
    }
  }
}

using Compute = void (*)(const Tile&);

Compute compute_in_use(bool vnni, std::int64_t rows) {
  if (vnni) return rows >= kAmxRows && has_amx() ? compute_amx : compute_vnni;
  return current_target() == "SSE2" ? compute_plain : compute_avx2;
}

std::int64_t panel_place(std::int64_t rows, std::int64_t row, std::int64_t column) {
  return column / kDotColumns * divide_up(rows, kQuad) * kPanelBytes + row / kQuad * kPanelBytes +
         column % kDotColumns * kQuad + row % kQuad;
}

void check_size(std::int64_t rows, std::int64_t columns) {
  base::check(rows >= 0 && columns >= 0 && rows <= kInt8Terms,
              "Int8Matrix: [{}, {}]; expected at most {} rows, or sums would leave 32 bits", rows, columns, kInt8Terms);
}

// Memory for a matrix, all zeros, in one piece that begins at a cache line.
struct Room {
  Room(std::int64_t rows, std::int64_t columns) {
    const std::int64_t bytes = Int8Matrix::panel_bytes(rows, columns);
    const auto size = static_cast<std::size_t>(bytes + 8 * columns);
    memory.reset(std::aligned_alloc(64, std::max<std::size_t>(64, (size + 63) / 64 * 64)), std::free);
    base::check_kind(memory != nullptr, base::ErrorKind::system, "Int8Matrix: no memory for {} bytes", size);
    panels = static_cast<std::int8_t*>(memory.get());
    std::fill_n(panels, size, std::int8_t{0});
    scales = reinterpret_cast<float*>(panels + bytes);
    sums = reinterpret_cast<std::int32_t*>(scales + columns);
  }

  std::shared_ptr<void> memory;
  std::int8_t* panels;
  float* scales;
  std::int32_t* sums;
};

}  // namespace

std::int64_t Int8Matrix::panel_bytes(std::int64_t rows, std::int64_t columns) {
  return divide_up(columns, kDotColumns) * divide_up(rows, kQuad) * kPanelBytes;
}

Int8Matrix::Int8Matrix(ConstMatrix<float> b) : rows_(b.rows), columns_(b.columns) {
  check_size(b.rows, b.columns);
  const Room room(rows_, columns_);
  for (std::int64_t j = 0; j < columns_; ++j) {
    float largest = 0;
    for (std::int64_t k = 0; k < rows_; ++k) {
      base::check(std::isfinite(b(k, j)), "Int8Matrix: the number at ({}, {}) is {}", k, j, b(k, j));
      largest = std::max(largest, std::abs(b(k, j)));
    }
    const Int8Step step(largest);
    room.scales[j] = step.size;
    for (std::int64_t k = 0; k < rows_; ++k) {
      const auto number = static_cast<std::int8_t>(std::nearbyint(b(k, j) * step.per_unit));
      room.panels[panel_place(rows_, k, j)] = number;
      room.sums[j] += number;
    }
  }
  panels_ = {room.panels, static_cast<std::size_t>(panel_bytes(rows_, columns_))};
  scales_ = {room.scales, static_cast<std::size_t>(columns_)};
  sums_ = {room.sums, static_cast<std::size_t>(columns_)};
  owner_ = room.memory;
}

Int8Matrix Int8Matrix::some_columns(std::span<const std::int32_t> columns) const {
  const auto count = std::ssize(columns);
  const Room room(rows_, count);
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t column = columns[static_cast<std::size_t>(j)];
    base::check(column >= 0 && column < columns_, "Int8Matrix: column {} of {}", column, columns_);
    const std::int8_t* from = panels_.data() + panel_place(rows_, 0, column);
    std::int8_t* to = room.panels + panel_place(rows_, 0, j);
    for (std::int64_t k = 0; k < divide_up(rows_, kQuad); ++k) {
      std::memcpy(to + k * kPanelBytes, from + k * kPanelBytes, kQuad);
    }
    room.scales[j] = scales_[static_cast<std::size_t>(column)];
    room.sums[j] = sums_[static_cast<std::size_t>(column)];
  }
  return {rows_,
          count,
          {room.panels, static_cast<std::size_t>(panel_bytes(rows_, count))},
          {room.scales, static_cast<std::size_t>(count)},
          {room.sums, static_cast<std::size_t>(count)},
          room.memory};
}

Int8Matrix::Int8Matrix(std::int64_t rows, std::int64_t columns, std::span<const std::int8_t> panels,
                       std::span<const float> scales, std::span<const std::int32_t> sums,
                       std::shared_ptr<const void> owner)
    : rows_(rows), columns_(columns), panels_(panels), scales_(scales), sums_(sums), owner_(std::move(owner)) {
  check_size(rows, columns);
  base::check(
      std::ssize(panels) == panel_bytes(rows, columns) && std::ssize(scales) == columns && std::ssize(sums) == columns,
      "Int8Matrix: [{}, {}] with {} bytes, {} scales and {} sums; expected {}, {} and {}", rows, columns, panels.size(),
      scales.size(), sums.size(), panel_bytes(rows, columns), columns, columns);
}

void Int8Matrix::column(std::int64_t column, float factor, float* to) const {
  const float scale = factor * scales_[static_cast<std::size_t>(column)];
  const std::int8_t* numbers = panels_.data() + panel_place(rows_, 0, column);
  for (std::int64_t k = 0; k < rows_; ++k) {
    to[k] = scale * static_cast<float>(numbers[k / kQuad * kPanelBytes + k % kQuad]);
  }
}

std::int8_t Int8Matrix::at(std::int64_t row, std::int64_t column) const {
  base::check(row >= 0 && row < rows_ && column >= 0 && column < columns_, "Int8Matrix: ({}, {}) is outside [{}, {}]",
              row, column, rows_, columns_);
  return panels_[static_cast<std::size_t>(panel_place(rows_, row, column))];
}

void gemm(ConstMatrix<float> a, const Int8Matrix& b, Matrix<float> c, const GemmOptions<float>& options) {
  base::check(a.columns == b.rows() && a.rows == c.rows && b.columns() == c.columns,
              "gemm: [{}, {}] times [{}, {}] cannot give [{}, {}]; wanted [m, k] times [k, n] gives [m, n]", a.rows,
              a.columns, b.rows(), b.columns(), c.rows, c.columns);
  base::check(a.column_stride == 1 && c.column_stride == 1 && options.scale == 1,
              "gemm: with 8-bit weights rows must be without gaps and the scale 1, not {}", options.scale);
  if (c.rows == 0 || c.columns == 0) return;
  const bool vnni = has_vnni();
  const Compute compute = compute_in_use(vnni, a.rows);
  const std::int64_t quads = divide_up(a.columns, kQuad);
  // An odd number of cache lines apart, so that the rows fall into different cache sets.
  const std::int64_t stride = (quads * kQuad + 63) / 64 * 64 + 64 * (divide_up(quads * kQuad, 64) % 2 == 0);
  const std::unique_ptr<std::uint8_t[]> rows(
      new std::uint8_t[static_cast<std::size_t>(divide_up(a.rows, kTileSide) * kTileSide * stride)]);
  std::vector<float> scales(static_cast<std::size_t>(a.rows));
  const bool parallel = options.parallel && base::threads() > 1 && a.rows * a.columns * c.columns >= kParallelWork;
  const auto quantize = [&](std::int64_t begin, std::int64_t end) {
    quantize_rows(a.block(begin, 0, end - begin, a.columns), vnni ? 0x80 : 0, rows.get() + begin * stride, stride,
                  scales.data() + begin);
  };
  if (parallel && a.rows >= 64) {
    base::parallel_for(a.rows, 32, quantize);
  } else {
    quantize(0, a.rows);
  }
  const std::int64_t panels = divide_up(c.columns, kDotColumns);
  const std::int64_t row_tiles = divide_up(a.rows, kTileRows);
  std::int64_t tile_panels = panels;
  if (parallel) {
    const std::int64_t wanted = divide_up(3 * base::threads(), row_tiles);
    tile_panels = std::min(panels, divide_up(divide_up(panels, wanted), 8) * 8);
  }
  const std::int64_t column_tiles = divide_up(panels, tile_panels);
  const auto multiply = [&](std::int64_t item) {
    const std::int64_t row = item / column_tiles * kTileRows;
    const std::int64_t column = item % column_tiles * tile_panels * kDotColumns;
    const std::int64_t width = std::min(tile_panels * kDotColumns, c.columns - column);
    compute({rows.get() + row * stride, stride, scales.data() + row,
             b.panels().data() + column / kDotColumns * quads * kPanelBytes, quads, b.scales().data() + column,
             b.column_sums().data() + column, options.bias != nullptr ? options.bias + column : nullptr,
             options.accumulate, c.block(row, column, std::min(kTileRows, c.rows - row), width)});
  };
  if (!parallel) {
    for (std::int64_t item = 0; item < row_tiles * column_tiles; ++item) multiply(item);
    return;
  }
  base::parallel_for(row_tiles * column_tiles, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) multiply(item);
  });
}

}  // namespace zhuyi::kernels
