#pragma once
// The one walk through a matrix product, whatever its terms are: parts of b, tiles of c, blocks of k, strips of rows,
// and which thread does what. A Format says what is packed; a GemmCode how an instruction set packs and multiplies it.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "kernels/matrix.h"

namespace zhuyi::kernels {

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What is packed: groups of kTerms neighbouring terms of k, with the same blocks and panels on every instruction set,
// so that a packed matrix fits all of them. The sum of a block of kDepth terms is one chain from zero; then c = scale *
// sum + c.
template <class N, class P, std::int64_t kTermsOfGroup, std::int64_t kDepthOfBlock, std::int64_t kMostRows, bool kAhead>
struct Format {
  using Number = N;  // of a, b and c
  using Packed = P;  // a group
  static constexpr std::int64_t kTerms = kTermsOfGroup;
  static constexpr std::int64_t kDepth = kDepthOfBlock;
  static constexpr std::int64_t kColumns = 64 / static_cast<std::int64_t>(sizeof(P));  // of a panel: a cache line
  static constexpr std::int64_t kTileRows = kMostRows;  // packed, they fill part of the second-level cache
  static constexpr bool kPackAhead = kAhead;            // whether all rows of a are packed before the first product
  // Groups from one packed row of a product with `k` terms to the next, where each group of a is as long as `words` of
  // them: an odd number of cache lines, so that the rows fall into different cache sets, and at least one group more
  // than the row has.
  static constexpr std::int64_t row_stride(std::int64_t k, std::int64_t words = 1) {
    return ((words * divide_up(kAhead ? k : kDepth, kTerms) / kColumns + 1) | 1) * kColumns;
  }
};

// The numbers as they are.
template <class T>
struct FloatFormat : Format<T, T, 1, 256, 140, false> {};
// f32 numbers rounded to bf16 (nearest, ties to even), two in a group; a last one without partner stands beside 0.
struct Bf16Format : Format<float, std::uint32_t, 2, 512, 144, false> {};
// f32 numbers as 8-bit integers, four in a group, the exact sum over all of k; the last group of a packed row is its
// scale, an f32.
struct Int8Format : Format<float, std::uint32_t, 4, 65536, 256, true> {};

// A matrix b [k, n] as panels: for every block of k, for every panel, a row of kColumns groups for each group of terms.
// The last panel is filled up with zeros.
template <class Format>
struct Panels {
  const typename Format::Packed* data = nullptr;  // nullptr: not packed
  std::int64_t count = 0;                         // panels in a row of panels

  static std::int64_t count_for(std::int64_t columns) { return divide_up(columns, Format::kColumns); }
  // Groups of a packed b [k, n].
  static std::int64_t size(std::int64_t k, std::int64_t n) {
    return Format::kColumns * count_for(n) * divide_up(k, Format::kTerms);
  }
  // Where a panel begins in the block of `depth` terms that begins at term `begin`.
  std::int64_t offset(std::int64_t begin, std::int64_t depth, std::int64_t panel) const {
    return Format::kColumns * (begin / Format::kTerms * count + panel * divide_up(depth, Format::kTerms));
  }
};

// What a block of c reads: packed rows of a, panels of b.
template <class Packed>
struct GemmSource {
  const Packed* a = nullptr;  // rows `a_row` apart
  const Packed* b = nullptr;  // panels `b_panel` apart, their rows `b_row` apart
  std::int64_t a_row = 0;
  std::int64_t b_row = 0;
  std::int64_t b_panel = 0;
  std::int64_t depth = 0;  // groups of k
  std::int64_t ahead = 0;  // how far beyond b the panels lie that are wanted next
};

// What a block of c becomes: c = scale * sum (+ bias) (+ c).
template <class T>
struct GemmTarget {
  Matrix<T> c;
  T scale = 1;
  const T* bias = nullptr;  // [columns], or nullptr
  bool accumulate = false;
  const float* column_scales = nullptr;       // 8 bits: [columns]; with the row's scale they stand for `scale`
  const std::int32_t* column_sums = nullptr;  // 8 bits: [columns], of the integers of b

  GemmTarget block(std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) const {
    const auto from = [&](const auto* numbers) { return numbers == nullptr ? nullptr : numbers + column; };
    return {c.block(row, column, rows, columns), scale, from(bias), accumulate, from(column_scales), from(column_sums)};
  }
};

// The code of one instruction set: one thread, no allocation.
template <class Format>
struct GemmCode {
  using Number = typename Format::Number;
  using Packed = typename Format::Packed;

  std::int64_t tile_rows;   // of a tile, at most Format::kTileRows
  std::int64_t strip_rows;  // up to so many rows read b once, and read it where it lies; 0 where that cannot be
  void (*pack_panels)(ConstMatrix<Number> b, Packed* panels);  // b [at most kDepth, columns] -> panels
  void (*pack_rows)(ConstMatrix<Number> a, Packed* rows);      // a [rows, at most kDepth] -> rows, row_stride apart
  void (*compute)(const GemmSource<Packed>& source, const GemmTarget<Number>& target);
  std::int64_t row_words = 1;  // how many Packed a group takes in a packed row of a
};

// The code of the instruction set in use. That for bf16 is only to be had where has_bf16() (kernels/targets.h).
GemmCode<FloatFormat<float>> gemm_code(FloatFormat<float>);
GemmCode<FloatFormat<double>> gemm_code(FloatFormat<double>);
GemmCode<Bf16Format> gemm_code(Bf16Format);
GemmCode<Int8Format> gemm_code(Int8Format);

// A whole product or a tile of one. With panels, b has only its shape.
template <class Format>
struct GemmProduct {
  ConstMatrix<typename Format::Number> a;
  ConstMatrix<typename Format::Number> b;
  Panels<Format> panels = {};
  GemmTarget<typename Format::Number> target;
  const typename Format::Packed* packed_a = nullptr;  // a packed, tile by tile, their blocks of k one after another
  std::int64_t first_panel = 0;                       // in which the columns begin
};

// Computes a product; `parallel` as in GemmOptions.
template <class Format>
void multiply(const GemmCode<Format>& code, const GemmProduct<Format>& product, bool parallel);

// Packs b [k, n] into Panels<Format>::size(k, n) groups, on all threads if `parallel`.
template <class Format>
void pack_panels(const GemmCode<Format>& code, ConstMatrix<typename Format::Number> b, typename Format::Packed* panels,
                 bool parallel);

// Throws invalid_argument unless a [m, k], b [k, n] and c [m, n] fit together and have a stride of 1.
template <class T>
void check_product(ConstMatrix<T> a, std::int64_t b_rows, std::int64_t b_columns, Matrix<T> c);

// Memory that begins at a cache line.
void* allocate_bytes(std::int64_t count);
struct FreeLines {
  void operator()(void* data) const { std::free(data); }
};
template <class T>
std::unique_ptr<T[], FreeLines> allocate_lines(std::int64_t count) {
  return std::unique_ptr<T[], FreeLines>(static_cast<T*>(allocate_bytes(count * static_cast<std::int64_t>(sizeof(T)))));
}

// Walks over a block of c: calls kernel(source, target, panels) for strips of nearly equal height (16 rows of at most
// 14 are 8 + 8) of at most `strip_rows` rows, times `group` panels, a power of 2, or fewer where they end. The panels
// stay in the first-level cache while strip after strip uses them.
template <std::int64_t kColumns, class Packed, class T, class Kernel>
void for_each_strip(const GemmSource<Packed>& source, const GemmTarget<T>& target, std::int64_t strip_rows,
                    std::int64_t group, const Kernel& kernel) {
  const std::int64_t rows = target.c.rows;
  const std::int64_t panels = divide_up(target.c.columns, kColumns);
  const std::int64_t strips = divide_up(rows, strip_rows);
  GemmSource<Packed> part = source;
  for (std::int64_t panel = 0; panel < panels; part.b += group * source.b_panel, panel += group) {
    while (group > panels - panel) group /= 2;
    const std::int64_t column = panel * kColumns;
    const std::int64_t width = std::min(group * kColumns, target.c.columns - column);
    part.a = source.a;
    for (std::int64_t strip = 0, row = 0; strip < strips; ++strip) {
      const std::int64_t height = (rows - row) / (strips - strip);
      part.ahead = strip + 1 == strips ? group * source.b_panel : 0;
      kernel(part, target.block(row, column, height, width), group);
      part.a += height * source.a_row;
      row += height;
    }
  }
}

}  // namespace zhuyi::kernels
