#pragma once
// The innermost loop of products of bf16 pairs or byte quads on AMX, where a register is a tile of 16 rows of 64 bytes.
// It reads what dot_block.h reads. Whoever calls it has asked kernels/targets.h first.

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "kernels/dot_block.h"

namespace zhuyi::kernels {

// The side of a tile: rows, and groups of terms or f32 sums in a row.
inline constexpr std::int64_t kTileSide = 16;

// The eight tiles of a core: sums 0 to 3, a in 4 and 5, b in 6 and 7. (Another type with these functions, which does
// the same in plain loops, stands in the tests, since few machines have the instructions.) The instructions are written
// out: the compiler's own functions for them take no template arguments, and do not tell it what memory they read.
struct AmxTiles {
  struct alignas(64) Configuration {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static void begin() {
    static constexpr Configuration kConfiguration;
    asm volatile("ldtilecfg %0" : : "m"(kConfiguration) : "memory");
  }
  static void end() { asm volatile("tilerelease" : : : "memory"); }

  template <int kTile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  // Rows are `row` groups apart.
  template <int kTile>
  static void load(const std::uint32_t* from, std::int64_t row) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(row * 4), "i"(kTile) : "memory");
  }
  template <int kTile>
  static void store(std::uint32_t* to) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(std::int64_t{64}), "i"(kTile) : "memory");
  }
  // sums += a b, where a is unsigned and b signed when they are bytes.
  template <class Terms, int kSums, int kA, int kB>
  static void dot() {
    if constexpr (std::is_same_v<Terms, Bf16Pairs>) {
      asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
    } else {
      asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kA), "i"(kB));
    }
  }
};

// The sums of one tile, finished: what is left of the terms beyond whole tiles is added, and finish(row, panel, sum)
// called for the rows that exist.
template <class Tiles, class Terms, int kTile, class Finish>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16")]] void finish_amx_tile(
    const DotSource& source, std::int64_t row, std::int64_t panel, std::int64_t rows, const Finish& finish) {
  alignas(64) std::uint32_t sums[kTileSide * kTileSide];
  Tiles::template store<kTile>(sums);
  const std::uint32_t* b = source.b + panel * source.b_panel;
  const std::int64_t whole = source.depth / kTileSide * kTileSide;
  for (std::int64_t i = 0; i < std::min(kTileSide, rows - row); ++i) {
    auto sum = reinterpret_cast<typename Terms::Sum>(_mm512_load_si512(sums + i * kTileSide));
    const std::uint32_t* a = source.a + (row + i) * source.a_row;
    for (std::int64_t k = whole; k < source.depth; ++k) {
      sum = Terms::dot(sum, _mm512_set1_epi32(static_cast<int>(a[k])), _mm512_loadu_si512(b + k * kDotColumns));
    }
    finish(static_cast<int>(row + i), static_cast<int>(panel), sum);
  }
}

// kRowTiles * 16 rows from `row` on times kPanels panels from `panel` on. Rows beyond `rows` are read, and must be
// there, but nothing comes of them.
template <class Tiles, class Terms, int kRowTiles, int kPanels, class Finish>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16")]] void amx_block(
    const DotSource& source, std::int64_t row, std::int64_t panel, std::int64_t rows, const Finish& finish) {
  Tiles::template zero<0>();
  if constexpr (kPanels > 1) Tiles::template zero<1>();
  if constexpr (kRowTiles > 1) Tiles::template zero<2>();
  if constexpr (kRowTiles > 1 && kPanels > 1) Tiles::template zero<3>();
  const std::uint32_t* a = source.a + row * source.a_row;
  const std::uint32_t* b = source.b + panel * source.b_panel;
  for (std::int64_t k = 0; k + kTileSide <= source.depth; k += kTileSide) {
    Tiles::template load<4>(a + k, source.a_row);
    Tiles::template load<6>(b + k * kDotColumns, kDotColumns);
    Tiles::template dot<Terms, 0, 4, 6>();
    if constexpr (kPanels > 1) {
      Tiles::template load<7>(b + source.b_panel + k * kDotColumns, kDotColumns);
      Tiles::template dot<Terms, 1, 4, 7>();
    }
    if constexpr (kRowTiles > 1) {
      Tiles::template load<5>(a + kTileSide * source.a_row + k, source.a_row);
      Tiles::template dot<Terms, 2, 5, 6>();
      if constexpr (kPanels > 1) Tiles::template dot<Terms, 3, 5, 7>();
    }
  }
  finish_amx_tile<Tiles, Terms, 0>(source, row, panel, rows, finish);
  if constexpr (kPanels > 1) finish_amx_tile<Tiles, Terms, 1>(source, row, panel + 1, rows, finish);
  if constexpr (kRowTiles > 1) finish_amx_tile<Tiles, Terms, 2>(source, row + kTileSide, panel, rows, finish);
  if constexpr (kRowTiles > 1 && kPanels > 1) {
    finish_amx_tile<Tiles, Terms, 3>(source, row + kTileSide, panel + 1, rows, finish);
  }
}

// All rows times all panels, in blocks of two by two tiles. The rows of a are there up to a multiple of 16.
template <class Tiles, class Terms, class Finish>
void amx_strips(const DotSource& source, std::int64_t rows, std::int64_t panels, const Finish& finish) {
  Tiles::begin();
  for (std::int64_t panel = 0; panel < panels; panel += 2) {
    const bool two = panel + 1 < panels;
    for (std::int64_t row = 0; row < rows; row += 2 * kTileSide) {
      if (row + kTileSide < rows) {
        two ? amx_block<Tiles, Terms, 2, 2>(source, row, panel, rows, finish)
            : amx_block<Tiles, Terms, 2, 1>(source, row, panel, rows, finish);
      } else {
        two ? amx_block<Tiles, Terms, 1, 2>(source, row, panel, rows, finish)
            : amx_block<Tiles, Terms, 1, 1>(source, row, panel, rows, finish);
      }
    }
  }
  Tiles::end();
}

}  // namespace zhuyi::kernels
