#pragma once
// What the blocking of a matrix product (gemm.cc) asks of the code of one instruction set (gemm_tile-inl.h).

#include <cstdint>

#include "kernels/matrix.h"

namespace zhuyi::kernels {

// Products are summed over k in blocks of this many terms (unless a set of kernels says otherwise): within a block one
// chain of multiply-adds from zero, then c = scale * block + c. Every instruction set uses the same blocks, so packed
// matrices fit all of them.
inline constexpr std::int64_t kBlockDepth = 256;

// Columns of b that are packed together: one cache line of every row.
template <class T>
inline constexpr std::int64_t kPanelColumns = 64 / static_cast<std::int64_t>(sizeof(T));

// The number of panels that `columns` columns take; the last one is filled up with zeros.
template <class T>
std::int64_t panel_count(std::int64_t columns) {
  return (columns + kPanelColumns<T> - 1) / kPanelColumns<T>;
}

// A matrix b [k, n] as panels: for every block of k, for every panel, `depth of the block` rows of kPanelColumns
// numbers. Numbers of half the width stand two in the place of one: the terms 2 i and 2 i + 1 of k in row i.
template <class T>
struct Panels {
  const T* data = nullptr;  // nullptr: not packed
  std::int64_t count = 0;   // panels in a row of panels
  std::int64_t terms = 1;   // of k in one place

  const T* at(std::int64_t block_begin, std::int64_t depth, std::int64_t panel) const {
    const std::int64_t rows = (depth + terms - 1) / terms;
    return data + kPanelColumns<T> * (block_begin / terms * count + panel * rows);
  }
};

// One piece of a product: c = scale * a b (+ bias) (+ c).
template <class T>
struct GemmTile {
  ConstMatrix<T> a;              // [rows, k], at most `tile_rows` rows
  const T* packed_a = nullptr;   // a packed, its blocks of k one after another; nullptr: not packed
  ConstMatrix<T> b;              // [k, columns]; its data are used only when there are no panels
  Panels<T> panels;              // b packed, perhaps with more columns than the tile
  std::int64_t first_panel = 0;  // the panel in which the tile's columns begin
  Matrix<T> c;                   // [rows, columns]
  T scale = 1;
  const T* bias = nullptr;  // [columns]
  bool accumulate = false;
};

// The code of one instruction set.
template <class T>
struct GemmKernels {
  std::int64_t tile_rows;                          // the largest number of rows of a tile
  std::int64_t block_depth;                        // terms of k that are summed in registers
  std::int64_t terms;                              // of k in one place of what is packed
  std::int64_t packed_rows;                        // numbers of one block of a tile's packed rows
  void (*compute)(const GemmTile<T>& tile);        // one thread, no allocation
  void (*pack)(ConstMatrix<T> b, T* panels);       // b [at most block_depth, columns] -> panels
  void (*pack_rows)(ConstMatrix<T> a, T* packed);  // a [at most tile_rows, at most block_depth] -> packed rows
};

}  // namespace zhuyi::kernels
