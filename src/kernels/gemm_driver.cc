#include "kernels/gemm_driver.h"

#include "base/error.h"
#include "base/parallel.h"

namespace zhuyi::kernels {
namespace {

// Below this many multiply-adds a second thread costs more than it saves (in 8 bits, below five times as many).
constexpr std::int64_t kParallelWork = 200'000;
// A packed part of b has at most this many terms and columns: it stays in the last-level cache.
constexpr std::int64_t kSharedTerms = 1 << 20;
constexpr std::int64_t kSharedColumns = 2048;
// Rows packed ahead, up to so many groups, lie on the stack: to get memory would take a tenth of the smallest products.
constexpr std::int64_t kNearGroups = 1 << 14;

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

template <class Format>
std::int64_t block_count(std::int64_t k) {
  return std::max<std::int64_t>(1, divide_up(k, Format::kDepth));
}

// Groups of the packed rows of one tile and block of k.
template <class Format>
std::int64_t tile_size(const GemmCode<Format>& code, std::int64_t k) {
  return code.tile_rows * Format::row_stride(std::min(k, Format::kDepth), code.row_words);
}

// The packed rows of a [m, k], up to a multiple of 16 of them (AMX reads so many).
template <class Format>
std::int64_t packed_rows_size(const GemmCode<Format>& code, std::int64_t m, std::int64_t k) {
  const std::int64_t blocks = block_count<Format>(k);
  if (m <= code.tile_rows && blocks == 1) return divide_up(m, 16) * 16 * Format::row_stride(k, code.row_words);
  return divide_up(m, code.tile_rows) * blocks * tile_size(code, k);
}

// Packs a [m, k] tile by tile, and within a tile block of k by block.
template <class Format>
void pack_all_rows(const GemmCode<Format>& code, ConstMatrix<typename Format::Number> a, typename Format::Packed* data,
                   bool parallel) {
  const std::int64_t blocks = block_count<Format>(a.columns);
  const std::int64_t piece_rows = Format::kPackAhead ? code.tile_rows / 8 : code.tile_rows;  // quantising takes longer
  for_each_item(parallel, divide_up(a.rows, piece_rows) * blocks, [&](std::int64_t item) {
    const std::int64_t row = item / blocks * piece_rows;
    const std::int64_t begin = item % blocks * Format::kDepth;
    const std::int64_t depth = std::min(Format::kDepth, a.columns - begin);
    const std::int64_t tile = row / code.tile_rows;
    code.pack_rows(a.block(row, begin, std::min(piece_rows, a.rows - row), depth),
                   data + (tile * blocks + item % blocks) * tile_size(code, a.columns) +
                       (row - tile * code.tile_rows) * Format::row_stride(depth, code.row_words));
  });
}

// A block of k of a tile times columns of b that are not packed: read where they lie, or packed near.
template <class Format>
void multiply_unpacked(const GemmCode<Format>& code, GemmSource<typename Format::Packed> source,
                       ConstMatrix<typename Format::Number> b, const GemmTarget<typename Format::Number>& target) {
  constexpr std::int64_t kColumns = 64 * Format::kTerms;  // that are packed at a time
  alignas(64) typename Format::Packed packed[kColumns * Format::kDepth / Format::kTerms];
  const std::int64_t rows = target.c.rows;
  std::int64_t column = 0;
  if constexpr (Format::kTerms == 1) {
    if (rows <= code.strip_rows && b.column_stride == 1) column = b.columns / Format::kColumns * Format::kColumns;
    if (column > 0) {
      GemmSource<typename Format::Packed> as_it_lies = source;
      as_it_lies.b = b.data;
      as_it_lies.b_row = b.row_stride;
      as_it_lies.b_panel = Format::kColumns;
      code.compute(as_it_lies, target.block(0, 0, rows, column));
    }
  }
  source.b = packed;
  for (; column < b.columns; column += kColumns) {
    const std::int64_t width = std::min(kColumns, b.columns - column);
    code.pack_panels(b.block(0, column, b.rows, width), packed);
    code.compute(source, target.block(0, column, rows, width));
  }
}

// One tile, block of k by block. Rows that are not packed yet are packed here, into memory that is near.
template <class Format>
void multiply_tile(const GemmCode<Format>& code, const GemmProduct<Format>& tile) {
  using Packed = typename Format::Packed;
  constexpr std::int64_t kNear = Format::kPackAhead ? 1 : Format::kTileRows * Format::row_stride(Format::kDepth);
  alignas(64) Packed near_rows[kNear];
  const std::int64_t k = tile.a.columns;
  const std::int64_t rows = tile.a.rows;
  GemmTarget<typename Format::Number> target = tile.target;
  for (std::int64_t begin = 0; begin == 0 || begin < k; begin += Format::kDepth) {
    const std::int64_t depth = std::min(Format::kDepth, k - begin);
    const std::int64_t groups = divide_up(depth, Format::kTerms);
    GemmSource<Packed> source{.a_row = Format::row_stride(depth, code.row_words),
                              .b_row = Format::kColumns,
                              .b_panel = groups * Format::kColumns,
                              .depth = groups};
    if (tile.packed_a != nullptr) {
      source.a = tile.packed_a + begin / Format::kDepth * tile_size(code, k);
    } else if constexpr (!Format::kPackAhead) {
      source.a = near_rows;
      const auto a = tile.a.block(0, begin, rows, depth);
      if constexpr (Format::kTerms == 1) {
        if (rows == 1 && a.column_stride == 1) source.a = a.data;  // as it lies
      }
      if (source.a == near_rows) code.pack_rows(a, near_rows);
    }
    if (tile.panels.data != nullptr) {
      source.b = tile.panels.data + tile.panels.offset(begin, depth, tile.first_panel);
      code.compute(source, target);
    } else if constexpr (!Format::kPackAhead) {
      multiply_unpacked(code, source, tile.b.block(begin, 0, depth, tile.b.columns), target);
    }
    target.bias = nullptr;
    target.accumulate = true;
  }
}

// The panels of a tile, of `panels` in all. When the rows are few, the columns too are divided among the threads.
std::int64_t panels_of_tile(std::int64_t row_tiles, std::int64_t panels, bool parallel) {
  if (!parallel) return panels;
  const std::int64_t wanted = divide_up((row_tiles == 1 ? 4 : 12) * base::threads(), row_tiles);
  const std::int64_t least = row_tiles == 1 ? 4 : 8;  // narrower tiles would read a too often
  const std::int64_t tile_panels = std::clamp(divide_up(panels, wanted), std::min(least, panels), panels);
  return std::min(panels, divide_up(tile_panels, 4) * 4);
}

// The whole product in tiles.
template <class Format>
void multiply_tiles(const GemmCode<Format>& code, const GemmProduct<Format>& whole, bool parallel) {
  const std::int64_t m = whole.a.rows;
  const std::int64_t n = whole.b.columns;
  const std::int64_t panels = Panels<Format>::count_for(n);
  const std::int64_t row_tiles = divide_up(m, code.tile_rows);
  const std::int64_t tile_panels = panels_of_tile(row_tiles, panels, parallel);
  const std::int64_t column_tiles = divide_up(panels, tile_panels);
  for_each_item(parallel, row_tiles * column_tiles, [&](std::int64_t item) {
    const std::int64_t row = item / column_tiles * code.tile_rows;
    const std::int64_t rows = std::min(code.tile_rows, m - row);
    const std::int64_t panel = item % column_tiles * tile_panels;
    const std::int64_t column = panel * Format::kColumns;
    const std::int64_t columns = std::min(tile_panels * Format::kColumns, n - column);
    GemmProduct<Format> tile = whole;
    tile.a = whole.a.block(row, 0, rows, whole.a.columns);
    tile.b = whole.b.block(0, column, whole.b.rows, columns);
    tile.target = whole.target.block(row, column, rows, columns);
    tile.first_panel = panel;
    if (whole.packed_a != nullptr) {
      tile.packed_a += item / column_tiles * block_count<Format>(whole.a.columns) * tile_size(code, whole.a.columns);
    }
    multiply_tile(code, tile);
  });
}

// A product with many rows: parts of b are packed once and used by all rows. Where tiles stand side by side, a is
// packed once as well; where a tile has all columns, it packs its rows itself.
template <class Format>
void multiply_packing(const GemmCode<Format>& code, const GemmProduct<Format>& whole, bool parallel) {
  const std::int64_t m = whole.a.rows;
  const std::int64_t k = whole.b.rows;
  const std::int64_t n = whole.b.columns;
  const std::int64_t pieces = divide_up(n, kSharedColumns);
  const std::int64_t width = divide_up(divide_up(n, pieces), 4 * Format::kColumns) * 4 * Format::kColumns;
  const std::int64_t depth = std::max<std::int64_t>(1, kSharedTerms / width / Format::kDepth) * Format::kDepth;
  const auto buffer =
      allocate_lines<typename Format::Packed>(Panels<Format>::size(std::min(depth, k), std::min(width, n)));
  const std::int64_t panels = Panels<Format>::count_for(std::min(width, n));
  const bool share_rows = panels_of_tile(divide_up(m, code.tile_rows), panels, parallel) < panels || n > width;
  const auto rows =
      allocate_lines<typename Format::Packed>(share_rows ? packed_rows_size(code, m, std::min(depth, k)) : 0);
  for (std::int64_t begin = 0; begin < k; begin += depth) {
    GemmProduct<Format> part = whole;
    part.a = whole.a.block(0, begin, m, std::min(depth, k - begin));
    if (share_rows) {
      pack_all_rows(code, part.a, rows.get(), parallel);
      part.packed_a = rows.get();
    }
    for (std::int64_t column = 0; column < n; column += width) {
      const std::int64_t columns = std::min(width, n - column);
      part.b = whole.b.block(begin, column, part.a.columns, columns);
      part.target = whole.target.block(0, column, m, columns);
      if (begin > 0) {
        part.target.bias = nullptr;
        part.target.accumulate = true;
      }
      pack_panels(code, part.b, buffer.get(), parallel);
      part.panels = {buffer.get(), Panels<Format>::count_for(columns)};
      multiply_tiles(code, part, parallel);
    }
  }
}

}  // namespace

void* allocate_bytes(std::int64_t count) {
  const std::size_t size = static_cast<std::size_t>(std::max<std::int64_t>(1, divide_up(count, 64))) * 64;
  void* data = std::aligned_alloc(64, size);
  base::check_kind(data != nullptr, base::ErrorKind::system, "gemm: no memory for {} bytes", size);
  return data;
}

template <class T>
void check_product(ConstMatrix<T> a, std::int64_t b_rows, std::int64_t b_columns, Matrix<T> c) {
  base::check(a.columns == b_rows && a.rows == c.rows && b_columns == c.columns,
              "gemm: [{}, {}] times [{}, {}] cannot give [{}, {}]; wanted [m, k] times [k, n] gives [m, n]", a.rows,
              a.columns, b_rows, b_columns, c.rows, c.columns);
  base::check(a.row_stride == 1 || a.column_stride == 1,
              "gemm: the strides of a are {} and {}; one of them must be 1, so copy the matrix first", a.row_stride,
              a.column_stride);
  base::check(c.column_stride == 1, "gemm: the column stride of c is {}; it must be 1", c.column_stride);
}
template void check_product(ConstMatrix<float>, std::int64_t, std::int64_t, Matrix<float>);
template void check_product(ConstMatrix<double>, std::int64_t, std::int64_t, Matrix<double>);

template <class Format>
void pack_panels(const GemmCode<Format>& code, ConstMatrix<typename Format::Number> b, typename Format::Packed* panels,
                 bool parallel) {
  const std::int64_t count = Panels<Format>::count_for(b.columns);
  // A piece of work is a few neighbouring panels, so that rows of b are read in long runs.
  constexpr std::int64_t kTogether = 8;
  const std::int64_t pieces = divide_up(count, kTogether);
  for_each_item(parallel, pieces * divide_up(b.rows, Format::kDepth), [&](std::int64_t item) {
    const std::int64_t begin = item / pieces * Format::kDepth;
    const std::int64_t depth = std::min(Format::kDepth, b.rows - begin);
    const std::int64_t panel = item % pieces * kTogether;
    const std::int64_t column = panel * Format::kColumns;
    const std::int64_t width = std::min(kTogether * Format::kColumns, b.columns - column);
    code.pack_panels(b.block(begin, column, depth, width),
                     panels + Panels<Format>{panels, count}.offset(begin, depth, panel));
  });
}

template <class Format>
void multiply(const GemmCode<Format>& code, const GemmProduct<Format>& product, bool parallel) {
  const std::int64_t m = product.a.rows;
  const std::int64_t n = product.b.columns;
  const std::int64_t k = product.a.columns;
  if (m == 0 || n == 0) return;
  const bool threads = parallel && base::threads() > 1 &&
                       m * n * std::max<std::int64_t>(k, 1) >= (Format::kPackAhead ? 5 : 1) * kParallelWork;
  if constexpr (Format::kPackAhead) {
    alignas(64) typename Format::Packed near_rows[kNearGroups];
    const std::int64_t size = packed_rows_size(code, m, k);
    const auto far_rows = size > kNearGroups ? allocate_lines<typename Format::Packed>(size) : nullptr;
    typename Format::Packed* rows = size > kNearGroups ? far_rows.get() : near_rows;
    pack_all_rows(code, product.a, rows, threads);
    GemmProduct<Format> packed = product;
    packed.packed_a = rows;
    multiply_tiles(code, packed, threads);
  } else if (product.panels.data != nullptr || m <= code.tile_rows || k == 0) {
    multiply_tiles(code, product, threads);
  } else {
    multiply_packing(code, product, threads);
  }
}

template void multiply(const GemmCode<FloatFormat<float>>&, const GemmProduct<FloatFormat<float>>&, bool);
template void multiply(const GemmCode<FloatFormat<double>>&, const GemmProduct<FloatFormat<double>>&, bool);
template void multiply(const GemmCode<Bf16Format>&, const GemmProduct<Bf16Format>&, bool);
template void multiply(const GemmCode<Int8Format>&, const GemmProduct<Int8Format>&, bool);
template void pack_panels(const GemmCode<FloatFormat<float>>&, ConstMatrix<float>, float*, bool);
template void pack_panels(const GemmCode<Bf16Format>&, ConstMatrix<float>, std::uint32_t*, bool);

}  // namespace zhuyi::kernels
