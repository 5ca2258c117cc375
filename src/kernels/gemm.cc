#include "kernels/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/gemm_bf16.h"
#include "kernels/gemm_tile.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm.cc"
#include "hwy/foreach_target.h"
#include "kernels/gemm_tile-inl.h"

#if HWY_ONCE
namespace zhuyi::kernels {
namespace {

HWY_EXPORT(float_kernels);
HWY_EXPORT(double_kernels);

// Below this many multiply-adds a second thread costs more than it saves.
constexpr std::int64_t kParallelWork = 200'000;
// A packed part of b has at most this many numbers and columns: it stays in the last-level cache.
constexpr std::int64_t kSharedNumbers = 1 << 20;
constexpr std::int64_t kSharedColumns = 2048;

GemmKernels<float> kernels_for(float, Precision precision) {
  if (precision == Precision::f32) return HWY_DYNAMIC_DISPATCH(float_kernels)();
  base::check(precision == Precision::bf16 && has_precision(precision),
              "gemm: this CPU (or the instruction set chosen, {}) has no bf16 arithmetic; use f32", current_target());
  return bf16_kernels();
}
GemmKernels<double> kernels_for(double, Precision) { return HWY_DYNAMIC_DISPATCH(double_kernels)(); }

struct Free {
  void operator()(void* data) const { std::free(data); }
};

// Memory for `count` numbers that begins at a cache line.
template <class T>
std::unique_ptr<T[], Free> allocate(std::int64_t count) {
  const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
  void* data = std::aligned_alloc(64, std::max<std::size_t>(bytes, 64));
  if (data == nullptr) base::fail(base::ErrorKind::system, "gemm: no memory for {} bytes", bytes);
  return std::unique_ptr<T[], Free>(static_cast<T*>(data));
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// base::parallel_for, or the same on this thread.
template <class Body>
void for_each_item(bool parallel, std::int64_t count, const Body& body) {
  if (!parallel) {
    for (std::int64_t item = 0; item < count; ++item) body(item);
    return;
  }
  base::parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) body(item);
  });
}

// The numbers that a packed b [k, n] takes.
template <class T>
std::int64_t packed_numbers(const GemmKernels<T>& kernels, std::int64_t k, std::int64_t n) {
  return kPanelColumns<T> * panel_count<T>(n) * divide_up(k, kernels.terms);
}

// Packs b [k, n] into `data`, packed_numbers of it.
template <class T>
void pack_all(const GemmKernels<T>& kernels, ConstMatrix<T> b, T* data, bool parallel) {
  constexpr std::int64_t kColumns = kPanelColumns<T>;
  const std::int64_t panels = panel_count<T>(b.columns);
  // A piece of work is a few neighbouring panels, so that rows of b are read in long runs.
  constexpr std::int64_t kGroup = 8;
  const std::int64_t groups = divide_up(panels, kGroup);
  for_each_item(parallel, groups * divide_up(b.rows, kernels.block_depth), [&](std::int64_t item) {
    const std::int64_t begin = item / groups * kernels.block_depth;
    const std::int64_t depth = std::min(kernels.block_depth, b.rows - begin);
    const std::int64_t panel = item % groups * kGroup;
    const std::int64_t width = std::min(kGroup * kColumns, b.columns - panel * kColumns);
    const std::int64_t offset = Panels<T>{data, panels, kernels.terms}.at(begin, depth, panel) - data;
    kernels.pack(b.block(begin, panel * kColumns, depth, width), data + offset);
  });
}

// The panels of a tile, of `panels` in all. When the rows are few, the columns too are divided among the threads.
std::int64_t panels_of_tile(std::int64_t row_tiles, std::int64_t panels, bool parallel) {
  if (!parallel) return panels;
  const std::int64_t wanted = divide_up((row_tiles == 1 ? 4 : 12) * base::threads(), row_tiles);
  const std::int64_t least = row_tiles == 1 ? 4 : 8;  // narrower tiles would read a too often
  const std::int64_t tile_panels = std::clamp(divide_up(panels, wanted), std::min(least, panels), panels);
  return std::min(panels, divide_up(tile_panels, 4) * 4);
}

// The whole product in tiles. With panels, b has only its shape.
template <class T>
void multiply_tiles(const GemmKernels<T>& kernels, const GemmTile<T>& whole, bool parallel) {
  constexpr std::int64_t kColumns = kPanelColumns<T>;
  const std::int64_t m = whole.c.rows;
  const std::int64_t n = whole.c.columns;
  const std::int64_t panels = panel_count<T>(n);
  const std::int64_t row_tiles = divide_up(m, kernels.tile_rows);
  const std::int64_t tile_panels = panels_of_tile(row_tiles, panels, parallel);
  const std::int64_t column_tiles = divide_up(panels, tile_panels);
  const std::int64_t packed_tile = kernels.packed_rows * divide_up(whole.a.columns, kernels.block_depth);
  for_each_item(parallel, row_tiles * column_tiles, [&](std::int64_t item) {
    const std::int64_t row = item / column_tiles * kernels.tile_rows;
    const std::int64_t rows = std::min(kernels.tile_rows, m - row);
    const std::int64_t panel = item % column_tiles * tile_panels;
    const std::int64_t column = panel * kColumns;
    const std::int64_t columns = std::min(tile_panels * kColumns, n - column);
    GemmTile<T> tile = whole;
    tile.a = whole.a.block(row, 0, rows, whole.a.columns);
    if (whole.packed_a != nullptr) tile.packed_a = whole.packed_a + item / column_tiles * packed_tile;
    if (whole.panels.data == nullptr) tile.b = whole.b.block(0, column, whole.b.rows, columns);
    tile.first_panel = whole.first_panel + panel;
    tile.c = whole.c.block(row, column, rows, columns);
    if (whole.bias != nullptr) tile.bias = whole.bias + column;
    kernels.compute(tile);
  });
}

// Packs a [m, k] tile by tile, and within a tile block of k by block.
template <class T>
void pack_all_rows(const GemmKernels<T>& kernels, ConstMatrix<T> a, T* data, bool parallel) {
  const std::int64_t blocks = divide_up(a.columns, kernels.block_depth);
  for_each_item(parallel, divide_up(a.rows, kernels.tile_rows) * blocks, [&](std::int64_t item) {
    const std::int64_t row = item / blocks * kernels.tile_rows;
    const std::int64_t begin = item % blocks * kernels.block_depth;
    kernels.pack_rows(a.block(row, begin, std::min(kernels.tile_rows, a.rows - row),
                              std::min(kernels.block_depth, a.columns - begin)),
                      data + item * kernels.packed_rows);
  });
}

// A product with many rows: parts of b are packed once and used by all rows. Where tiles stand side by side, a is
// packed once as well; where a tile has all columns, it packs its rows itself, into memory that is near.
template <class T>
void multiply_packing(const GemmKernels<T>& kernels, const GemmTile<T>& whole, bool parallel) {
  constexpr std::int64_t kColumns = kPanelColumns<T>;
  const std::int64_t k = whole.b.rows;
  const std::int64_t n = whole.b.columns;
  const std::int64_t pieces = divide_up(n, kSharedColumns);
  const std::int64_t width = divide_up(divide_up(n, pieces), 4 * kColumns) * 4 * kColumns;
  const std::int64_t depth =
      std::max<std::int64_t>(1, kSharedNumbers / width / kernels.block_depth) * kernels.block_depth;
  const auto buffer = allocate<T>(packed_numbers(kernels, std::min(depth, k), std::min(width, n)));
  const std::int64_t row_tiles = divide_up(whole.a.rows, kernels.tile_rows);
  const std::int64_t panels = panel_count<T>(std::min(width, n));
  const bool share_rows = panels_of_tile(row_tiles, panels, parallel) < panels || n > width;
  const auto rows = allocate<T>(
      share_rows ? row_tiles * divide_up(std::min(depth, k), kernels.block_depth) * kernels.packed_rows : 0);
  for (std::int64_t begin = 0; begin < k; begin += depth) {
    GemmTile<T> part = whole;
    part.a = whole.a.block(0, begin, whole.a.rows, std::min(depth, k - begin));
    if (share_rows) {
      pack_all_rows(kernels, part.a, rows.get(), parallel);
      part.packed_a = rows.get();
    }
    for (std::int64_t column = 0; column < n; column += width) {
      const std::int64_t columns = std::min(width, n - column);
      part.b = whole.b.block(begin, column, part.a.columns, columns);
      part.c = whole.c.block(0, column, whole.c.rows, columns);
      part.bias = begin == 0 && whole.bias != nullptr ? whole.bias + column : nullptr;
      part.accumulate = begin > 0 || whole.accumulate;
      pack_all(kernels, part.b, buffer.get(), parallel);
      part.panels = {buffer.get(), panel_count<T>(columns), kernels.terms};
      multiply_tiles(kernels, part, parallel);
    }
  }
}

template <class T>
void check_shapes(ConstMatrix<T> a, std::int64_t b_rows, std::int64_t b_columns, Matrix<T> c) {
  base::check(a.columns == b_rows && a.rows == c.rows && b_columns == c.columns,
              "gemm: [{}, {}] times [{}, {}] cannot give [{}, {}]; wanted [m, k] times [k, n] gives [m, n]", a.rows,
              a.columns, b_rows, b_columns, c.rows, c.columns);
  base::check(a.row_stride == 1 || a.column_stride == 1,
              "gemm: the strides of a are {} and {}; one of them must be 1, so copy the matrix first", a.row_stride,
              a.column_stride);
  base::check(c.column_stride == 1, "gemm: the column stride of c is {}; it must be 1", c.column_stride);
}

template <class T>
bool worth_threads(const GemmOptions<T>& options, std::int64_t m, std::int64_t n, std::int64_t k) {
  return options.parallel && m * n * std::max<std::int64_t>(k, 1) >= kParallelWork && base::threads() > 1;
}

}  // namespace

bool has_precision(Precision precision) { return precision != Precision::bf16 || has_bf16(); }

template <class T>
void gemm(ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c, const GemmOptions<T>& options) {
  check_shapes(a, b.rows, b.columns, c);
  base::check(b.row_stride == 1 || b.column_stride == 1,
              "gemm: the strides of b are {} and {}; one of them must be 1, so copy the matrix first", b.row_stride,
              b.column_stride);
  if (c.rows == 0 || c.columns == 0) return;
  const GemmKernels<T> kernels = kernels_for(T{}, options.precision);
  const bool parallel = worth_threads(options, c.rows, c.columns, a.columns);
  const GemmTile<T> whole{a, nullptr, b, {}, 0, c, options.scale, options.bias, options.accumulate};
  if (c.rows <= kernels.tile_rows || a.columns == 0) {
    multiply_tiles(kernels, whole, parallel);
  } else {
    multiply_packing(kernels, whole, parallel);
  }
}

template void gemm(ConstMatrix<float>, ConstMatrix<float>, Matrix<float>, const GemmOptions<float>&);
template void gemm(ConstMatrix<double>, ConstMatrix<double>, Matrix<double>, const GemmOptions<double>&);

PackedMatrix::PackedMatrix(ConstMatrix<float> b, Precision precision)
    : rows_(b.rows), columns_(b.columns), precision_(precision) {
  base::check(b.row_stride == 1 || b.column_stride == 1,
              "PackedMatrix: the strides are {} and {}; one of them must be 1, so copy the matrix first", b.row_stride,
              b.column_stride);
  const GemmKernels<float> kernels = kernels_for(float{}, precision);
  const std::int64_t count = packed_numbers(kernels, rows_, columns_);
  bytes_ = count * static_cast<std::int64_t>(sizeof(float));
  auto data = allocate<float>(count);
  pack_all(kernels, b, data.get(), true);
  data_ = std::move(data);
}

void gemm(ConstMatrix<float> a, const PackedMatrix& b, Matrix<float> c, const GemmOptions<float>& options) {
  check_shapes(a, b.rows(), b.columns(), c);
  if (c.rows == 0 || c.columns == 0) return;
  const ConstMatrix<float> shape{nullptr, b.rows(), b.columns(), b.columns(), 1};
  const GemmKernels<float> kernels = kernels_for(float{}, b.precision());
  const Panels<float> panels{b.data(), panel_count<float>(b.columns()), kernels.terms};
  const GemmTile<float> whole{a, nullptr, shape, panels, 0, c, options.scale, options.bias, options.accumulate};
  multiply_tiles(kernels, whole, worth_threads(options, c.rows, c.columns, a.columns));
}

}  // namespace zhuyi::kernels
#endif
