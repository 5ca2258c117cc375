// The inner part of the matrix product for one instruction set: packing, and the kernel that holds a block of c in
// registers. The method is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
// Included once for every instruction set, hence the unusual guard.

#if defined(ZHUYI_KERNELS_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZHUYI_KERNELS_GEMM_TILE_INL_H_
#undef ZHUYI_KERNELS_GEMM_TILE_INL_H_
#else
#define ZHUYI_KERNELS_GEMM_TILE_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/gemm_tile.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The block of c in registers: kStripRows rows, kStripPanels panels. AVX-512: 28 of 32 registers; AVX2: 12 of 16.
#if HWY_TARGET == HWY_SCALAR
inline constexpr int kStripRows = 2;
inline constexpr int kStripPanels = 1;
#elif HWY_TARGET <= HWY_AVX3
inline constexpr int kStripRows = 14;
inline constexpr int kStripPanels = 2;
#else
inline constexpr int kStripRows = 6;
inline constexpr int kStripPanels = 1;
#endif
// With one or two rows there are too few chains of multiply-adds to fill the pipeline; then more panels at once.
inline constexpr int kWideRows = 2;
inline constexpr int kWidePanels = 2 * kStripPanels;

// Rows of a that are packed together; they fill part of the second-level cache. The rows of a step of the search, 32
// sentences with 4 hypotheses each, are one tile: the weights are read once.
inline constexpr std::int64_t kTileRows = 140 / kStripRows * kStripRows;
// Distance of packed rows of a: an odd number of cache lines, so that the rows fall into different cache sets.
template <class T>
inline constexpr std::int64_t kPackedStride = kBlockDepth + 64 / static_cast<std::int64_t>(sizeof(T));

// Where and how the sums of a kernel are written: c = scale * sum + start, start = bias and/or c.
template <class T>
struct Target {
  Matrix<T> c;  // [rows of the kernel, at most the columns of its panels]
  T scale;
  const T* bias;
  bool accumulate;
};

// Where a kernel reads: a with rows kPackedStride apart; b with rows `b_row` apart, panels `b_panel` apart.
template <class T>
struct Source {
  const T* a;
  const T* b;
  std::int64_t b_row;
  std::int64_t b_panel;
  std::int64_t depth;
};

template <class T>
using Kernel = void (*)(const Source<T>& source, const Target<T>& target);

#if HWY_TARGET == HWY_SCALAR

// Plain loops that the compiler turns into SSE2.
template <class T, int kRows, int kPanels>
void multiply_block(const Source<T>& source, const Target<T>& target) {
  constexpr int kColumns = kPanels * static_cast<int>(kPanelColumns<T>);
  T sum[kRows][kColumns] = {};
  for (std::int64_t k = 0; k < source.depth; ++k) {
    for (int i = 0; i < kRows; ++i) {
      const T x = source.a[i * kPackedStride<T> + k];
      for (int j = 0; j < kColumns; ++j) {
        const std::int64_t panel = j / kPanelColumns<T>;
        sum[i][j] += x * source.b[k * source.b_row + panel * source.b_panel + j % kPanelColumns<T>];
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < target.c.columns; ++j) {
      T start = target.accumulate ? target.c(i, j) : T{0};
      if (target.bias != nullptr) start += target.bias[j];
      target.c(i, j) = target.scale * sum[i][j] + start;
    }
  }
}

#else

// The sums of one row are finished and stored.
template <int kVectors, class D, class V, class T>
HWY_INLINE void store_full_row(D d, const V* sums, const Target<T>& target, std::int64_t row) {
  constexpr int kLanes = HWY_MAX_BYTES / static_cast<int>(sizeof(T));
  const auto scale = hn::Set(d, target.scale);
  T* c = target.c.row(row);
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    auto start = target.accumulate ? hn::LoadU(d, c + v * kLanes) : hn::Zero(d);
    if (target.bias != nullptr) start = hn::Add(start, hn::LoadU(d, target.bias + v * kLanes));
    hn::StoreU(hn::MulAdd(scale, sums[v], start), d, c + v * kLanes);
  }
}

// The same where c ends within the panels: whole vectors, then a part of one.
template <class D, class V, class T>
HWY_INLINE void store_row(D d, const V* sums, int vectors, const Target<T>& target, std::int64_t row) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, target.scale);
  T* c = target.c.row(row);
  for (int v = 0; v < vectors; ++v) {
    const std::int64_t column = v * lanes;
    const std::int64_t left = target.c.columns - column;
    if (left >= lanes) {
      auto start = target.accumulate ? hn::LoadU(d, c + column) : hn::Zero(d);
      if (target.bias != nullptr) start = hn::Add(start, hn::LoadU(d, target.bias + column));
      hn::StoreU(hn::MulAdd(scale, sums[v], start), d, c + column);
    } else if (left > 0) {
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(left));
      auto start = target.accumulate ? hn::MaskedLoad(mask, d, c + column) : hn::Zero(d);
      if (target.bias != nullptr) start = hn::Add(start, hn::MaskedLoad(mask, d, target.bias + column));
      hn::BlendedStore(hn::MulAdd(scale, sums[v], start), mask, d, c + column);
    }
  }
}

// kRows rows of a times kPanels panels of b, the sums in registers.
template <class T, int kRows, int kPanels>
void multiply_block(const Source<T>& source, const Target<T>& target) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kLanes = HWY_MAX_BYTES / static_cast<int>(sizeof(T));
  constexpr int kPanelVectors = static_cast<int>(kPanelColumns<T>) / kLanes;
  constexpr int kVectors = kPanels * kPanelVectors;
  V sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  }
  // c is needed only after the loop, and by then it shall have come from memory.
  const std::int64_t end = std::min<std::int64_t>(target.c.columns, kVectors * kLanes);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < end; j += kPanelColumns<T>) hwy::Prefetch(target.c.row(i) + j);
    hwy::Prefetch(target.c.row(i) + end - 1);
  }
  const T* HWY_RESTRICT a = source.a;
  const T* HWY_RESTRICT b = source.b;
  const std::int64_t b_row = source.b_row;
  const std::int64_t b_panel = source.b_panel;
  for (std::int64_t k = 0; k < source.depth; ++k) {
    V y[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      y[v] = hn::LoadU(d, b + (v / kPanelVectors) * b_panel + (v % kPanelVectors) * kLanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const V x = hn::Set(d, a[i * kPackedStride<T>]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(x, y[v], sums[i][v]);
    }
    ++a;
    b += b_row;
  }
  if (target.c.columns == kVectors * kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) store_full_row<kVectors>(d, sums[i], target, i);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) store_row(d, sums[i], kVectors, target, i);
  }
}

#endif

template <class T, int kPanels, int... kIndex>
constexpr std::array<Kernel<T>, sizeof...(kIndex)> kernel_list(std::integer_sequence<int, kIndex...>) {
  return {multiply_block<T, kIndex + 1, kPanels>...};
}

// The kernel for `rows` rows and `panels` panels.
template <class T>
Kernel<T> find_kernel(std::int64_t rows, std::int64_t panels) {
  static constexpr auto kOne = kernel_list<T, 1>(std::make_integer_sequence<int, kStripRows>());
  static constexpr auto kStrip = kernel_list<T, kStripPanels>(std::make_integer_sequence<int, kStripRows>());
  static constexpr auto kWide = kernel_list<T, kWidePanels>(std::make_integer_sequence<int, kWideRows>());
  const auto index = static_cast<std::size_t>(rows - 1);
  if (panels == 1) return kOne[index];
  return panels == kStripPanels ? kStrip[index] : kWide[index];
}

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns.
template <class T>
void transpose(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, T* to,
               std::int64_t to_stride) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::int64_t kSide = 16 / static_cast<std::int64_t>(sizeof(T));
  const hn::FixedTag<T, static_cast<std::size_t>(kSide)> d;
  for (; i + kSide <= rows; i += kSide) {
    const T* source = from + i * from_stride;
    std::int64_t j = 0;
    for (; j + kSide <= columns; j += kSide) {
      T* out = to + j * to_stride + i;
      if constexpr (kSide == 4) {
        const hn::Repartition<double, decltype(d)> pairs;
        const auto r0 = hn::LoadU(d, source + j);
        const auto r1 = hn::LoadU(d, source + from_stride + j);
        const auto r2 = hn::LoadU(d, source + 2 * from_stride + j);
        const auto r3 = hn::LoadU(d, source + 3 * from_stride + j);
        const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
        const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
        const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
        const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, out);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, out + to_stride);
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, out + 2 * to_stride);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, out + 3 * to_stride);
      } else {
        const auto r0 = hn::LoadU(d, source + j);
        const auto r1 = hn::LoadU(d, source + from_stride + j);
        hn::StoreU(hn::InterleaveLower(d, r0, r1), d, out);
        hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, out + to_stride);
      }
    }
    for (; j < columns; ++j) {
      for (std::int64_t s = 0; s < kSide; ++s) to[j * to_stride + i + s] = source[s * from_stride + j];
    }
  }
#endif
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

// Copies b [depth, columns] into panels, one after the other, the last one filled up with zeros.
template <class T>
void pack_panels(ConstMatrix<T> b, T* panels) {
  constexpr std::int64_t kColumns = kPanelColumns<T>;
  const std::int64_t full = b.columns / kColumns;
  const std::int64_t rest = b.columns % kColumns;
  T* last = panels + full * kColumns * b.rows;
  if (rest > 0) std::fill_n(last, kColumns * b.rows, T{0});
  if (b.column_stride != 1) {
    for (std::int64_t column = 0; column < b.columns; column += kColumns) {
      const std::int64_t width = std::min(kColumns, b.columns - column);
      transpose(b.data + column * b.column_stride, b.column_stride, width, b.rows, panels + column * b.rows, kColumns);
    }
    return;
  }
  for (std::int64_t k = 0; k < b.rows; ++k) {
    const T* row = b.row(k);
    for (std::int64_t panel = 0; panel < full; ++panel) {
      std::memcpy(panels + (panel * b.rows + k) * kColumns, row + panel * kColumns, kColumns * sizeof(T));
    }
    std::copy_n(row + full * kColumns, rest, last + k * kColumns);
  }
}

// Copies a [rows, depth] into rows that are kPackedStride apart.
template <class T>
void pack_rows(ConstMatrix<T> a, T* packed) {
  if (a.column_stride == 1) {
    for (std::int64_t i = 0; i < a.rows; ++i) std::copy_n(a.row(i), a.columns, packed + i * kPackedStride<T>);
  } else {
    transpose(a.data, a.column_stride, a.columns, a.rows, packed, kPackedStride<T>);
  }
}

// All rows of a tile times some panels. The rows are split into strips of nearly equal height: 16 rows are 8 + 8.
template <class T>
void multiply_strips(Source<T> source, const Target<T>& target, std::int64_t panels) {
  const std::int64_t rows = target.c.rows;
  const std::int64_t strips = (rows + kStripRows - 1) / kStripRows;
  std::int64_t row = 0;
  for (std::int64_t strip = 0; strip < strips; ++strip) {
    const std::int64_t height = (rows - row) / (strips - strip);
    Target<T> part = target;
    part.c = target.c.block(row, 0, height, target.c.columns);
    find_kernel<T>(height, panels)(source, part);
    source.a += height * kPackedStride<T>;
    row += height;
  }
}

// Gives panels of b for one block of k: from the packed matrix, from b itself, or packed into `scratch`.
template <class T>
Source<T> find_panels(const GemmTile<T>& tile, std::int64_t begin, std::int64_t depth, std::int64_t column,
                      std::int64_t panels, T* scratch) {
  constexpr std::int64_t kColumns = kPanelColumns<T>;
  if (tile.panels.data != nullptr) {
    const T* data = tile.panels.at(begin, depth, tile.first_panel + column / kColumns);
    return {nullptr, data, kColumns, depth * kColumns, depth};
  }
  const std::int64_t width = std::min(panels * kColumns, tile.b.columns - column);
  const ConstMatrix<T> b = tile.b.block(begin, column, depth, width);
  // A strip of rows reads b only once; then packing would cost more than it saves.
  if (tile.c.rows <= kStripRows && b.column_stride == 1 && width == panels * kColumns) {
    return {nullptr, b.data, b.row_stride, kColumns, depth};
  }
  pack_panels(b, scratch);
  return {nullptr, scratch, kColumns, depth * kColumns, depth};
}

template <class T>
void compute_tile(const GemmTile<T>& tile) {
  HWY_ALIGN T packed_a[kTileRows * kPackedStride<T>];
  HWY_ALIGN T packed_b[kWidePanels * kPanelColumns<T> * kBlockDepth];
  const std::int64_t k = tile.a.columns;
  const std::int64_t rows = tile.c.rows;
  const std::int64_t panels = panel_count<T>(tile.c.columns);
  const std::int64_t step = rows <= kWideRows ? kWidePanels : kStripPanels;
  for (std::int64_t begin = 0; begin == 0 || begin < k; begin += kBlockDepth) {
    const std::int64_t depth = std::min(kBlockDepth, k - begin);
    const ConstMatrix<T> a = tile.a.block(0, begin, rows, depth);
    const bool packed = tile.packed_a != nullptr;
    const bool one_row = !packed && rows == 1 && a.column_stride == 1;
    if (!packed && !one_row) pack_rows(a, packed_a);
    const T* rows_of_a = packed    ? tile.packed_a + begin / kBlockDepth * (kTileRows * kPackedStride<T>)
                         : one_row ? a.data
                                   : packed_a;
    const bool first = begin == 0;
    for (std::int64_t panel = 0; panel < panels;) {
      const std::int64_t taken = panels - panel >= step ? step : (panels - panel >= kStripPanels ? kStripPanels : 1);
      const std::int64_t column = panel * kPanelColumns<T>;
      const std::int64_t width = std::min(taken * kPanelColumns<T>, tile.c.columns - column);
      Source<T> source = find_panels(tile, begin, depth, column, taken, packed_b);
      source.a = rows_of_a;
      const T* bias = first && tile.bias != nullptr ? tile.bias + column : nullptr;
      const Target<T> target{tile.c.block(0, column, rows, width), tile.scale, bias, !first || tile.accumulate};
      multiply_strips(source, target, taken);
      panel += taken;
    }
  }
}

// NOLINTNEXTLINE: one of several definitions, one for each instruction set
GemmKernels<float> float_kernels() {
  return {kTileRows,          kBlockDepth,     1, kTileRows * kPackedStride<float>, compute_tile<float>,
          pack_panels<float>, pack_rows<float>};
}
GemmKernels<double> double_kernels() {
  return {kTileRows,           kBlockDepth,      1, kTileRows * kPackedStride<double>, compute_tile<double>,
          pack_panels<double>, pack_rows<double>};
}

}  // namespace HWY_NAMESPACE
}  // namespace zhuyi::kernels
HWY_AFTER_NAMESPACE();

#endif
