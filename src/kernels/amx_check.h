#pragma once
// Whether AMX may be used: tiles multiply small matrices, and AVX-512 does so beside them.

#include <cstring>
#include <string>
#include <vector>

#include "kernels/amx_block.h"

namespace zhuyi::kernels {

// Whether AMX is used, and what to tell the user: "" where all is well.
struct AmxUse {
  bool use = false;
  std::string report;
};

// Keeps the bits of the sums of a product of `panels` panels.
struct KeepSums {
  std::vector<std::uint32_t>& sums;
  std::int64_t panels;

  template <class Sum>
  [[gnu::target("avx512f")]] void operator()(int row, int panel, Sum sum) const {
    std::memcpy(&sums[static_cast<std::size_t>((row * panels + panel) * kDotColumns)], &sum, sizeof sum);
  }
};

// Whether the tiles give the sums of vectors, bit for bit: 33 rows (two tiles and part of a third) times 3 panels, 40
// groups deep (two tiles and a rest). Takes microseconds. The numbers are small and whole, so sums of bf16 are exact.
template <class Tiles, class Terms>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16")]] bool tiles_agree() {
  constexpr std::int64_t kRows = 33, kStoredRows = 48, kPanels = 3, kDepth = 40;
  std::uint32_t state = 1;
  const auto fill = [&state](std::vector<std::uint32_t>& groups) {
    for (std::uint32_t& group : groups) {
      state = state * 1664525 + 1013904223;                                        // Knuth, Lewis
      constexpr std::uint32_t kSmallNumbers[] = {0x0000, 0x3F80, 0xC000, 0x4040};  // 0, 1, -2, 3 in bf16
      const bool bf16 = std::is_same_v<Terms, Bf16Pairs>;
      group = bf16 ? kSmallNumbers[state >> 30] << 16 | kSmallNumbers[state >> 28 & 3] : state ^ state >> 16;
    }
  };
  std::vector<std::uint32_t> a(kStoredRows * kDepth);
  std::vector<std::uint32_t> b(kPanels * kDepth * kDotColumns);
  fill(a);
  fill(b);
  std::vector<std::uint32_t> sums(kRows * kPanels * kDotColumns);
  const DotSource source{
      .a = a.data(), .b = b.data(), .a_row = kDepth, .b_panel = kDepth * kDotColumns, .depth = kDepth};
  amx_strips<Tiles, Terms>(source, kRows, kPanels, KeepSums{sums, kPanels});
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t panel = 0; panel < kPanels; ++panel) {
      auto sum = Terms::zero();
      for (std::int64_t k = 0; k < kDepth; ++k) {
        const __m512i x = _mm512_set1_epi32(static_cast<int>(source.a[row * kDepth + k]));
        sum = Terms::dot(sum, x, _mm512_loadu_si512(source.b + panel * source.b_panel + k * kDotColumns));
      }
      const std::uint32_t* found = &sums[static_cast<std::size_t>((row * kPanels + panel) * kDotColumns)];
      if (std::memcmp(&sum, found, sizeof sum) != 0) return false;
    }
  }
  return true;
}

// What comes of tiles that the CPU has and the system lets this process use, if `granted`.
template <class Tiles>
AmxUse check_amx(bool granted) {
  if (!granted) return {};
  if (tiles_agree<Tiles, Bf16Pairs>() && tiles_agree<Tiles, ByteQuads>()) return {true, ""};
  return {false, "this machine's AMX tiles multiply wrong, so AVX-512 is used instead"};
}

}  // namespace zhuyi::kernels
