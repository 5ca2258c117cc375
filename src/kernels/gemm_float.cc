// Products of numbers as they are, f32 or f64: packing, and the kernel that holds a block of c in registers. The method
// is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/gemm_driver.h"
#include "kernels/transpose.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm_float.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
inline constexpr std::int64_t kPanelColumns = FloatFormat<T>::kColumns;
// Between packed rows of a: known to the compiler, so that the rows of a strip need no register each.
template <class T>
inline constexpr std::int64_t kRowStride = FloatFormat<T>::row_stride(0);

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

template <class T>
using Kernel = void (*)(const GemmSource<T>& source, const GemmTarget<T>& target);

#if HWY_TARGET == HWY_SCALAR

// Plain loops that the compiler turns into SSE2.
template <class T, int kRows, int kPanels>
void multiply_block(const GemmSource<T>& source, const GemmTarget<T>& target) {
  constexpr int kColumns = kPanels * static_cast<int>(kPanelColumns<T>);
  T sum[kRows][kColumns] = {};
  for (std::int64_t k = 0; k < source.depth; ++k) {
    for (int i = 0; i < kRows; ++i) {
      const T x = source.a[i * kRowStride<T> + k];
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

// The sums of one row are finished and stored: whole vectors, and where c ends within the panels a part of one.
template <bool kWhole, int kVectors, class D, class V, class T>
HWY_INLINE void store_row(D d, const V* sums, const GemmTarget<T>& target, std::int64_t row) {
  constexpr int kLanes = HWY_MAX_BYTES / static_cast<int>(sizeof(T));
  const auto scale = hn::Set(d, target.scale);
  T* c = target.c.row(row);
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const std::int64_t column = v * kLanes;
    const std::int64_t left = target.c.columns - column;
    if (kWhole || left >= kLanes) {
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
void multiply_block(const GemmSource<T>& source, const GemmTarget<T>& target) {
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
      const V x = hn::Set(d, a[i * kRowStride<T>]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(x, y[v], sums[i][v]);
    }
    ++a;
    b += b_row;
  }
  if (target.c.columns == kVectors * kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) store_row<true, kVectors>(d, sums[i], target, i);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) store_row<false, kVectors>(d, sums[i], target, i);
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

// Copies a [rows, depth] into rows that are kRowStride apart.
template <class T>
void pack_rows(ConstMatrix<T> a, T* packed) {
  if (a.column_stride == 1) {
    for (std::int64_t i = 0; i < a.rows; ++i) std::copy_n(a.row(i), a.columns, packed + i * kRowStride<T>);
  } else {
    transpose(a.data, a.column_stride, a.columns, a.rows, packed, kRowStride<T>);
  }
}

template <class T>
void compute(const GemmSource<T>& source, const GemmTarget<T>& target) {
  for_each_strip<kPanelColumns<T>>(source, target, kStripRows, target.c.rows <= kWideRows ? kWidePanels : kStripPanels,
                                   [](const GemmSource<T>& part, const GemmTarget<T>& block, std::int64_t panels) {
                                     find_kernel<T>(block.c.rows, panels)(part, block);
                                   });
}

template <class T>
GemmCode<FloatFormat<T>> code_for() {
  constexpr std::int64_t kTileRows = FloatFormat<T>::kTileRows / kStripRows * kStripRows;
  return {kTileRows, kStripRows, pack_panels<T>, pack_rows<T>, compute<T>};
}

// NOLINTNEXTLINE: one of several definitions, one for each instruction set
GemmCode<FloatFormat<float>> float_code() { return code_for<float>(); }
GemmCode<FloatFormat<double>> double_code() { return code_for<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace zhuyi::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {

HWY_EXPORT(float_code);
HWY_EXPORT(double_code);

GemmCode<FloatFormat<float>> gemm_code(FloatFormat<float>) { return HWY_DYNAMIC_DISPATCH(float_code)(); }
GemmCode<FloatFormat<double>> gemm_code(FloatFormat<double>) { return HWY_DYNAMIC_DISPATCH(double_code)(); }

}  // namespace zhuyi::kernels
#endif
