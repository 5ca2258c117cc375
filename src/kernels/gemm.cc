#include "kernels/gemm.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/gemm_tile.h"

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

GemmKernels<float> kernels_for(float) { return HWY_DYNAMIC_DISPATCH(float_kernels)(); }
GemmKernels<double> kernels_for(double) { return HWY_DYNAMIC_DISPATCH(double_kernels)(); }

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

// Packs b [k, n] into `data`, kPanelColumns * panel_count(n) * k numbers.
template <class T>
void pack_all(const GemmKernels<T>& kernels, ConstMatrix<T> b, T* data, bool parallel) {
  constexpr std::int64_t kColumns = kPanelColumns<T>;
  const std::int64_t panels = panel_count<T>(b.columns);
  // A piece of work is a few neighbouring panels, so that rows of b are read in long runs.
  constexpr std::int64_t kGroup = 8;
  const std::int64_t groups = divide_up(panels, kGroup);
  for_each_item(parallel, groups * divide_up(b.rows, kBlockDepth), [&](std::int64_t item) {
    const std::int64_t begin = item / groups * kBlockDepth;
    const std::int64_t depth = std::min(kBlockDepth, b.rows - begin);
    const std::int64_t panel = item % groups * kGroup;
    const std::int64_t width = std::min(kGroup * kColumns, b.columns - panel * kColumns);
    kernels.pack(b.block(begin, panel * kColumns, depth, width), data + kColumns * (begin * panels + panel * depth));
  });
}

// The whole product in tiles. With panels, b has only its shape. When the rows fill less than one tile, the columns are
// what is divided among the threads.
template <class T>
void multiply_tiles(const GemmKernels<T>& kernels, const GemmTile<T>& whole, bool parallel) {
  constexpr std::int64_t kColumns = kPanelColumns<T>;
  const std::int64_t m = whole.c.rows;
  const std::int64_t n = whole.c.columns;
  const std::int64_t panels = panel_count<T>(n);
  const std::int64_t row_tiles = divide_up(m, kernels.tile_rows);
  std::int64_t tile_panels = panels;
  if (parallel) {
    const std::int64_t wanted = divide_up((row_tiles == 1 ? 4 : 12) * base::threads(), row_tiles);
    const std::int64_t least = row_tiles == 1 ? 4 : 8;  // narrower tiles would pack a too often
    tile_panels = std::clamp(divide_up(panels, wanted), std::min(least, panels), panels);
    tile_panels = std::min(panels, divide_up(tile_panels, 4) * 4);
  }
  const std::int64_t column_tiles = divide_up(panels, tile_panels);
  for_each_item(parallel, row_tiles * column_tiles, [&](std::int64_t item) {
    const std::int64_t row = item / column_tiles * kernels.tile_rows;
    const std::int64_t rows = std::min(kernels.tile_rows, m - row);
    const std::int64_t panel = item % column_tiles * tile_panels;
    const std::int64_t column = panel * kColumns;
    const std::int64_t columns = std::min(tile_panels * kColumns, n - column);
    GemmTile<T> tile = whole;
    tile.a = whole.a.block(row, 0, rows, whole.a.columns);
    if (whole.panels.data == nullptr) tile.b = whole.b.block(0, column, whole.b.rows, columns);
    tile.first_panel = whole.first_panel + panel;
    tile.c = whole.c.block(row, column, rows, columns);
    if (whole.bias != nullptr) tile.bias = whole.bias + column;
    kernels.compute(tile);
  });
}

// A product with many rows: parts of b are packed once and used by all rows.
template <class T>
void multiply_packing(const GemmKernels<T>& kernels, const GemmTile<T>& whole, bool parallel) {
  constexpr std::int64_t kColumns = kPanelColumns<T>;
  const std::int64_t k = whole.b.rows;
  const std::int64_t n = whole.b.columns;
  const std::int64_t pieces = divide_up(n, kSharedColumns);
  const std::int64_t width = divide_up(divide_up(n, pieces), 4 * kColumns) * 4 * kColumns;
  const std::int64_t depth = std::max<std::int64_t>(1, kSharedNumbers / width / kBlockDepth) * kBlockDepth;
  const auto buffer = allocate<T>(std::min(depth, k) * std::min(width, panel_count<T>(n) * kColumns));
  for (std::int64_t column = 0; column < n; column += width) {
    const std::int64_t columns = std::min(width, n - column);
    for (std::int64_t begin = 0; begin < k; begin += depth) {
      GemmTile<T> part = whole;
      part.a = whole.a.block(0, begin, whole.a.rows, std::min(depth, k - begin));
      part.b = whole.b.block(begin, column, part.a.columns, columns);
      part.c = whole.c.block(0, column, whole.c.rows, columns);
      part.bias = begin == 0 && whole.bias != nullptr ? whole.bias + column : nullptr;
      part.accumulate = begin > 0 || whole.accumulate;
      pack_all(kernels, part.b, buffer.get(), parallel);
      part.panels = {buffer.get(), panel_count<T>(columns)};
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

template <class T>
void gemm(ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c, const GemmOptions<T>& options) {
  check_shapes(a, b.rows, b.columns, c);
  base::check(b.row_stride == 1 || b.column_stride == 1,
              "gemm: the strides of b are {} and {}; one of them must be 1, so copy the matrix first", b.row_stride,
              b.column_stride);
  if (c.rows == 0 || c.columns == 0) return;
  const GemmKernels<T> kernels = kernels_for(T{});
  const bool parallel = worth_threads(options, c.rows, c.columns, a.columns);
  const GemmTile<T> whole{a, b, {}, 0, c, options.scale, options.bias, options.accumulate};
  if (c.rows <= kernels.tile_rows || a.columns == 0) {
    multiply_tiles(kernels, whole, parallel);
  } else {
    multiply_packing(kernels, whole, parallel);
  }
}

template void gemm(ConstMatrix<float>, ConstMatrix<float>, Matrix<float>, const GemmOptions<float>&);
template void gemm(ConstMatrix<double>, ConstMatrix<double>, Matrix<double>, const GemmOptions<double>&);

PackedMatrix::PackedMatrix(ConstMatrix<float> b) : rows_(b.rows), columns_(b.columns) {
  base::check(b.row_stride == 1 || b.column_stride == 1,
              "PackedMatrix: the strides are {} and {}; one of them must be 1, so copy the matrix first", b.row_stride,
              b.column_stride);
  const std::int64_t count = rows_ * panel_count<float>(columns_) * kPanelColumns<float>;
  bytes_ = count * static_cast<std::int64_t>(sizeof(float));
  auto data = allocate<float>(count);
  pack_all(kernels_for(float{}), b, data.get(), true);
  data_ = std::move(data);
}

void gemm(ConstMatrix<float> a, const PackedMatrix& b, Matrix<float> c, const GemmOptions<float>& options) {
  check_shapes(a, b.rows(), b.columns(), c);
  if (c.rows == 0 || c.columns == 0) return;
  const ConstMatrix<float> shape{nullptr, b.rows(), b.columns(), b.columns(), 1};
  const Panels<float> panels{b.data(), panel_count<float>(b.columns())};
  const GemmTile<float> whole{a, shape, panels, 0, c, options.scale, options.bias, options.accumulate};
  multiply_tiles(kernels_for(float{}), whole, worth_threads(options, c.rows, c.columns, a.columns));
}

}  // namespace zhuyi::kernels
#endif
