// The loops of products on AMX tiles, over tiles that are plain loops (Intel's definition of TDPBF16PS and TDPBUSD), so
// that where they read and write is tested on every machine with AVX-512; and the real tiles where there are.

#include "kernels/amx_block.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "kernels/amx_check.h"
#include "kernels/gemm_cases.h"

namespace zhuyi::kernels {
namespace {

// Tiles in memory. A test runs on one thread.
struct PlainTiles {
  using Tile = std::array<std::uint32_t, 16 * 16>;
  static inline std::array<Tile, 8> tiles;

  static void begin() {
    for (Tile& tile : tiles) tile.fill(0xDEADBEEF);
  }
  static void end() {}
  template <int kTile>
  static void zero() {
    tiles[kTile].fill(0);
  }
  template <int kTile>
  static void load(const std::uint32_t* from, std::int64_t row) {
    for (std::int64_t i = 0; i < 16; ++i)
      std::memcpy(&tiles[kTile][static_cast<std::size_t>(16 * i)], from + i * row, 64);
  }
  template <int kTile>
  static void store(std::uint32_t* to) {
    std::memcpy(to, tiles[kTile].data(), 16 * 64);
  }
  static float bf16(std::uint32_t pair, int half) {
    const std::uint32_t bits = half == 0 ? pair << 16 : pair & 0xFFFF0000;
    float value = 0;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  template <class Terms, int kSums, int kA, int kB>
  static void dot() {
    for (std::size_t m = 0; m < 16; ++m) {
      for (std::size_t k = 0; k < 16; ++k) {
        for (std::size_t n = 0; n < 16; ++n) {
          std::uint32_t& sum = tiles[kSums][16 * m + n];
          const std::uint32_t a = tiles[kA][16 * m + k];
          const std::uint32_t b = tiles[kB][16 * k + n];
          if constexpr (std::is_same_v<Terms, Bf16Pairs>) {
            float value = 0;
            std::memcpy(&value, &sum, 4);
            value += bf16(a, 0) * bf16(b, 0) + bf16(a, 1) * bf16(b, 1);
            std::memcpy(&sum, &value, 4);
          } else {
            for (int i = 0; i < 4; ++i) {
              const auto x = static_cast<std::int32_t>(static_cast<std::uint8_t>(a >> (8 * i)));
              const auto y = static_cast<std::int32_t>(static_cast<std::int8_t>(b >> (8 * i)));
              sum += static_cast<std::uint32_t>(x * y);
            }
          }
        }
      }
    }
  }
};

// Keeps the sums that it is given, and how often.
template <class Terms>
struct Keep {
  std::vector<std::uint32_t>* sums;
  std::vector<int>* calls;
  std::int64_t columns;

  [[gnu::target("avx512f")]] void operator()(int row, int panel, typename Terms::Sum sum) const {
    std::memcpy(sums->data() + row * columns + panel * 16, &sum, 64);
    ++(*calls)[static_cast<std::size_t>(row * columns / 16 + panel)];
  }
};

template <class Tiles, class Terms>
std::vector<std::uint32_t> multiply(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b,
                                    std::int64_t rows, std::int64_t panels, std::int64_t depth) {
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(rows * panels * 16), 1);
  std::vector<int> calls(static_cast<std::size_t>(rows * panels), 0);
  const DotSource source{.a = a.data(), .b = b.data(), .a_row = depth + 3, .b_panel = depth * 16, .depth = depth};
  amx_strips<Tiles, Terms>(source, rows, panels, Keep<Terms>{&sums, &calls, panels * 16});
  for (const int count : calls) EXPECT_EQ(count, 1);
  return sums;
}

std::vector<std::uint32_t> random_groups(std::int64_t count, std::uint64_t key, bool bf16) {
  base::Random random(key);
  std::vector<std::uint32_t> groups(static_cast<std::size_t>(count));
  for (std::uint32_t& group : groups) {
    if (bf16) {  // small whole numbers: every sum of products is exact, in any order
      const auto number = [&] { return static_cast<float>(random.below(17) - 8); };
      const float low = number();
      const float high = number();
      std::uint32_t bits[2];
      std::memcpy(&bits[0], &low, 4);
      std::memcpy(&bits[1], &high, 4);
      group = bits[0] >> 16 | (bits[1] & 0xFFFF0000);
    } else {
      group = static_cast<std::uint32_t>(random.below(std::int64_t{1} << 32));
    }
  }
  return groups;
}

template <class Tiles, class Terms>
void expect_equal_to_plain_loops() {
  constexpr bool kBf16 = std::is_same_v<Terms, Bf16Pairs>;
  for (const std::int64_t rows : {1, 9, 16, 17, 31, 32, 33, 70}) {
    for (const std::int64_t panels : {1, 2, 5}) {
      for (const std::int64_t depth : {1, 15, 16, 17, 40, 64}) {
        const std::int64_t stored_rows = (rows + 15) / 16 * 16;
        const std::vector<std::uint32_t> a = random_groups(stored_rows * (depth + 3), 1, kBf16);
        const std::vector<std::uint32_t> b = random_groups(panels * depth * 16, 2, kBf16);
        const std::vector<std::uint32_t> found = multiply<Tiles, Terms>(a, b, rows, panels, depth);
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < panels * 16; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < depth; ++k) {
              const std::uint32_t x = a[static_cast<std::size_t>(i * (depth + 3) + k)];
              const std::uint32_t y = b[static_cast<std::size_t>(j / 16 * depth * 16 + k * 16 + j % 16)];
              for (int t = 0; t < (kBf16 ? 2 : 4); ++t) {
                sum += kBf16 ? static_cast<double>(PlainTiles::bf16(x, t)) * static_cast<double>(PlainTiles::bf16(y, t))
                             : static_cast<double>(static_cast<std::uint8_t>(x >> (8 * t))) *
                                   static_cast<double>(static_cast<std::int8_t>(y >> (8 * t)));
              }
            }
            const std::uint32_t bits = found[static_cast<std::size_t>(i * panels * 16 + j)];
            float number = 0;
            std::memcpy(&number, &bits, 4);
            const double value =
                kBf16 ? static_cast<double>(number) : static_cast<double>(static_cast<std::int32_t>(bits));
            ASSERT_EQ(value, sum) << rows << " rows, " << panels << " panels, " << depth << " deep, at " << i << ", "
                                  << j;
          }
        }
      }
    }
  }
}

TEST(AmxBlock, OverPlainTilesEqualsPlainLoops) {
  if (!has_bf16() || !has_vnni()) GTEST_SKIP() << "skipped: no AVX512-BF16 and VNNI";
  expect_equal_to_plain_loops<PlainTiles, Bf16Pairs>();
  expect_equal_to_plain_loops<PlainTiles, ByteQuads>();
}

// Tiles that multiply by the wrong panel, and such as lose two bits of one sum (one is of a whole number, one of an
// exponent).
struct SwappedTiles : PlainTiles {
  template <class Terms, int kSums, int kA, int kB>
  static void dot() {
    PlainTiles::dot<Terms, kSums, kA, 13 - kB>();
  }
};
template <class Broken>
struct ForgetfulTiles : PlainTiles {
  template <class Terms, int kSums, int kA, int kB>
  static void dot() {
    PlainTiles::dot<Terms, kSums, kA, kB>();
    if (std::is_same_v<Terms, Broken>) tiles[kSums][37] &= 0xFF7FFEFF;
  }
};

TEST(AmxCheck, FallsBackWhereTilesMultiplyWrong) {
  if (!has_bf16() || !has_vnni()) GTEST_SKIP() << "skipped: no AVX512-BF16 and VNNI";
  const auto expect = [](const AmxUse& found, bool use, const std::string& report) {
    EXPECT_EQ(found.use, use);
    EXPECT_EQ(found.report, report);
  };
  expect(check_amx<PlainTiles>(true), true, "");
  const std::string wrong = "this machine's AMX tiles multiply wrong, so AVX-512 is used instead";
  expect(check_amx<SwappedTiles>(true), false, wrong);
  expect(check_amx<ForgetfulTiles<Bf16Pairs>>(true), false, wrong);
  expect(check_amx<ForgetfulTiles<ByteQuads>>(true), false, wrong);
  expect(check_amx<PlainTiles>(false), false, "");
}

TEST(AmxBlock, EqualsPlainLoops) {
  if (!has_amx()) GTEST_SKIP() << "skipped: no AMX";
  expect_equal_to_plain_loops<AmxTiles, Bf16Pairs>();
  expect_equal_to_plain_loops<AmxTiles, ByteQuads>();
}

}  // namespace
}  // namespace zhuyi::kernels
