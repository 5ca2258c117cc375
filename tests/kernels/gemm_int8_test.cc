// Products with 8-bit weights against plain loops over integers, on every instruction set, and their error.

#include "kernels/gemm_int8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/gemm_cases.h"
#include "kernels/numbers.h"
#include "kernels/quantize.h"

namespace zhuyi::kernels {
namespace {

// The definition at the head of gemm_int8.h in plain loops: quantise both sides, add integers in 64 bits.
std::vector<float> plain_product(ConstMatrix<float> a, ConstMatrix<float> b, const float* bias) {
  const auto largest = [](auto&& number, std::int64_t count) {
    float size = 0;
    for (std::int64_t i = 0; i < count; ++i) size = std::max(size, std::abs(number(i)));
    return size;
  };
  const auto whole = [](float x, float size) { return size > 0 ? std::lrint(x * (127 / size)) : 0L; };
  std::vector<float> c;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const float row = largest([&](std::int64_t k) { return a(i, k); }, a.columns);
    for (std::int64_t j = 0; j < b.columns; ++j) {
      const float column = largest([&](std::int64_t k) { return b(k, j); }, b.rows);
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k) sum += whole(a(i, k), row) * whole(b(k, j), column);
      const float scale = (row / 127) * (column / 127);
      c.push_back(std::fma(scale, static_cast<float>(sum), bias != nullptr ? bias[j] : 0.0F));
    }
  }
  return c;
}

std::vector<float> product(ConstMatrix<float> a, const Int8Matrix& b, const float* bias, bool parallel = true) {
  std::vector<float> c(static_cast<std::size_t>(a.rows * b.columns()), 7.0F);
  gemm(a, b, Matrix<float>::dense(c.data(), a.rows, b.columns()), {.bias = bias, .parallel = parallel});
  return c;
}

class Int8OnTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_path(GetParam()); }
  void TearDown() override { use_path(available_paths().front()); }
};

TEST_P(Int8OnTarget, EqualsPlainLoopsBitForBitAtOddSizes) {
  for (const std::int64_t m : {1, 2, 3, 4, 5, 17, 63, 130}) {
    for (const std::int64_t k : {1, 3, 7, 64, 65, 300}) {
      for (const std::int64_t n : {1, 16, 17, 65, 150}) {
        Framed<float> a(m, k, Layout::row_major, 1);
        Framed<float> b(k, n, n % 2 == 0 ? Layout::row_major : Layout::column_major, 2);
        const std::vector<float> bias = numbers<float>(n, 3);
        const Int8Matrix packed(b.view());
        EXPECT_TRUE(same_bits(product(a.view(), packed, bias.data()), plain_product(a.view(), b.view(), bias.data())))
            << current_target() << " " << m << " x " << k << " x " << n;
      }
    }
  }
}

TEST_P(Int8OnTarget, LargestNumbersDoNotSaturate) {
  std::vector<float> a(3 * 260, 1.0F);
  std::vector<float> b(260 * 20, 1.0F);
  for (std::size_t i = 0; i < 260; ++i) a[260 + i] = -1;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = i % 20 < 10 ? 1.0F : -1.0F;
  const auto left = ConstMatrix<float>::dense(a.data(), 3, 260);
  const std::vector<float> c = product(left, Int8Matrix(ConstMatrix<float>::dense(b.data(), 260, 20)), nullptr);
  for (std::size_t i = 0; i < c.size(); ++i) {
    const float sign = (i / 20 == 1 ? -1.0F : 1.0F) * (i % 20 < 10 ? 1.0F : -1.0F);
    EXPECT_NEAR(c[i], sign * 260, 1e-3) << i;
  }
}

TEST_P(Int8OnTarget, ThreadsAndNeighboursDoNotMatter) {
  const int before = base::threads();
  Framed<float> a(200, 300, Layout::row_major, 4);
  Framed<float> b(300, 700, Layout::row_major, 5);
  const Int8Matrix packed(b.view());
  const std::vector<float> all = product(a.view(), packed, nullptr, false);
  for (const int threads : {2, 5}) {
    base::set_threads(threads);
    EXPECT_TRUE(same_bits(all, product(a.view(), packed, nullptr)));
  }
  base::set_threads(before);
  for (const std::int64_t row : {0, 77, 199}) {
    const std::vector<float> alone = product(a.view().block(row, 0, 1, 300), packed, nullptr);
    EXPECT_TRUE(same_bits(alone, std::vector<float>(all.begin() + row * 700, all.begin() + (row + 1) * 700)));
  }
}

TEST_P(Int8OnTarget, NotANumberDoesNotLookLikeOne) {
  std::vector<float> a(70, 1);
  a[5] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> b(70, 1);
  const Int8Matrix packed(ConstMatrix<float>::dense(b.data(), 70, 1));
  EXPECT_FALSE(std::isfinite(product(ConstMatrix<float>::dense(a.data(), 1, 70), packed, nullptr)[0]));
  a[5] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(std::isfinite(product(ConstMatrix<float>::dense(a.data(), 1, 70), packed, nullptr)[0]));
}

// 127 / 2e-38 is more than an f32 holds. A step of 2^-126 is the least there is: 127 of it are a column of numbers,
// anything smaller one of zeros.
TEST_P(Int8OnTarget, TinyColumnsAreZerosAndLeaveTheOthersAlone) {
  const float least = 127 * 0x1p-126F;
  const std::vector<float> b = {2e-38F,  least,      1e-45F, 127,   // rows of four columns
                                1e-38F,  -least / 2, 0,      -127,  // 63.5 is a tie, and goes to 64
                                -2e-38F, 0x1p-126F,  1e-45F, 1};
  const Int8Matrix packed(ConstMatrix<float>::dense(b.data(), 3, 4));
  const std::vector<float> a = {127, 126, 1};
  const std::vector<float> bias = {1, 0, -1, 0.5};
  const std::vector<float> c = product(ConstMatrix<float>::dense(a.data(), 1, 3), packed, bias.data());
  EXPECT_EQ(c[0], 1);
  EXPECT_EQ(c[1], (127 * 127 - 126 * 64 + 1) * 0x1p-126F);
  EXPECT_EQ(c[2], -1);
  EXPECT_EQ(c[3], 127 * 127 - 126 * 127 + 1 + 0.5F);
  for (const std::int64_t column : {0, 2}) {
    EXPECT_EQ(packed.scales()[static_cast<std::size_t>(column)], 0);
    for (std::int64_t k = 0; k < 3; ++k) EXPECT_EQ(packed.at(k, column), 0);
  }
}

TEST_P(Int8OnTarget, TinyRowsAreZerosAndLeaveTheOthersAlone) {
  const std::int64_t k = 70;  // whole vectors and a rest
  std::vector<float> a(static_cast<std::size_t>(3 * k), 2e-38F);
  std::fill(a.begin() + k, a.begin() + 2 * k, 127.0F);
  std::fill(a.begin() + 2 * k, a.end(), -1e-45F);
  const std::vector<float> b(static_cast<std::size_t>(k), 127.0F);
  const Int8Matrix packed(ConstMatrix<float>::dense(b.data(), k, 1));
  EXPECT_EQ(product(ConstMatrix<float>::dense(a.data(), 3, k), packed, nullptr),
            std::vector<float>({0, 127 * 127 * 70, 0}));
}

INSTANTIATE_TEST_SUITE_P(Targets, Int8OnTarget, testing::ValuesIn(available_paths()),
                         [](const auto& info) { return info.param; });

// An error of half a step a side, at random: the sum of k terms is off by about sqrt(k) times a step of each side.
TEST(Int8, IsNearTheProductOfTheNumbers) {
  Framed<float> a(40, 512, Layout::row_major, 6);
  Framed<float> b(512, 90, Layout::row_major, 7);
  const std::vector<float> c = product(a.view(), Int8Matrix(b.view()), nullptr);
  double worst = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    for (std::int64_t j = 0; j < 90; ++j) {
      double exact = 0;
      for (std::int64_t k = 0; k < 512; ++k)
        exact += static_cast<double>(a.view()(i, k)) * static_cast<double>(b.view()(k, j));
      worst = std::max(worst, std::abs(exact - static_cast<double>(c[static_cast<std::size_t>(i * 90 + j)])));
    }
  }
  EXPECT_LT(worst, 5 * std::sqrt(512.0) * (1.0 / 127) * 0.58 * 0.41);
  EXPECT_GT(worst, 0.005);  // 8 bits cannot be this exact: then something else was computed
}

TEST(Int8, StoredPanelsGiveTheSameMatrix) {
  Framed<float> b(37, 53, Layout::row_major, 8);
  const Int8Matrix one(b.view());
  const Int8Matrix two(37, 53, one.panels(), one.scales(), one.column_sums(), nullptr);
  Framed<float> a(5, 37, Layout::row_major, 9);
  EXPECT_TRUE(same_bits(product(a.view(), one, nullptr), product(a.view(), two, nullptr)));
  std::vector<float> column(37);
  two.column(50, 2, column.data());
  for (std::int64_t k = 0; k < 37; ++k) {
    EXPECT_FLOAT_EQ(column[static_cast<std::size_t>(k)], 2 * one.scales()[50] * static_cast<float>(one.at(k, 50)));
    EXPECT_NEAR(column[static_cast<std::size_t>(k)], 2 * b.view()(k, 50), 1.0 / 127);
  }
  EXPECT_THROW(Int8Matrix(37, 54, one.panels(), one.scales(), one.column_sums(), nullptr), base::Error);
  EXPECT_THROW(Int8Matrix(37, 53, one.panels().subspan(1), one.scales(), one.column_sums(), nullptr), base::Error);
  EXPECT_THROW(one.at(37, 0), base::Error);
}

TEST(Int8, SomeColumnsGiveThoseOfTheProduct) {
  Framed<float> a(5, 37, Layout::row_major, 9);
  Framed<float> b(37, 53, Layout::row_major, 8);
  const Int8Matrix all(b.view());
  const std::vector<std::int32_t> columns = {52, 0, 7, 7, 16, 33, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13};
  const std::vector<float> whole = product(a.view(), all, nullptr);
  const std::vector<float> some = product(a.view(), all.some_columns(columns), nullptr);
  ASSERT_EQ(some.size(), 5 * columns.size());
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      EXPECT_EQ(some[i * columns.size() + j], whole[i * 53 + static_cast<std::size_t>(columns[j])]);
    }
  }
  EXPECT_THROW(all.some_columns(std::vector<std::int32_t>{53}), base::Error);
}

TEST(Int8, RefusesWhatItCannotHold) {
  std::vector<float> x(12, 1);
  x[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(Int8Matrix(ConstMatrix<float>::dense(x.data(), 3, 4)), base::Error);
  EXPECT_THROW(Int8Matrix(ConstMatrix<float>{nullptr, kInt8Terms + 1, 0, 0, 1}), base::Error);
  const Int8Matrix b(ConstMatrix<float>::dense(x.data(), 2, 3));
  const Matrix<float> c = Matrix<float>::dense(x.data(), 2, 3);
  EXPECT_THROW(gemm(ConstMatrix<float>::dense(x.data(), 2, 3), b, c), base::Error);
  EXPECT_THROW(gemm(ConstMatrix<float>::dense(x.data(), 2, 2), b, c, {.scale = 2}), base::Error);
}

TEST(Quantize, RoundsToEvenAndKeepsZeros) {
  const std::vector<float> x = {254, 1, 3, 5, -254, -1, 253};  // steps of 2
  std::vector<std::uint8_t> bytes(16);
  quantize_rows(ConstMatrix<float>::dense(x.data(), 1, 7), 0x80, bytes.data(), 16);
  float scale = 0;
  std::memcpy(&scale, &bytes[12], 4);
  EXPECT_EQ(scale, 2);
  const std::vector<int> wanted = {127, 0, 2, 2, -127, 0, 126, 0};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(static_cast<int>(bytes[i]) - 128, wanted[i]) << i;
}

// Whole vectors and a rest, several rows at a time and a rest of them.
TEST(Quantize, GivesTheSameIntegersIn8And16BitsOnEveryInstructionSet) {
  constexpr std::int64_t kRows = 11;
  constexpr std::int64_t kColumns = 150;
  constexpr std::int64_t kBytes = 160;
  Framed<float> x(kRows, kColumns, Layout::row_major, 10);
  on_every_target([&](const std::string& target) {
    std::vector<std::uint8_t> in_8_bits(kRows * kBytes);
    std::vector<std::int16_t> in_16_bits(kRows * kBytes);
    quantize_rows(x.view(), 0x80, in_8_bits.data(), kBytes);
    quantize_rows(x.view(), in_16_bits.data(), kBytes);
    for (std::int64_t i = 0; i < kRows; ++i) {
      float largest = 0;
      for (std::int64_t j = 0; j < kColumns; ++j) largest = std::max(largest, std::abs(x.view()(i, j)));
      float scales[2];
      std::memcpy(&scales[0], &in_8_bits[at((i + 1) * kBytes - 4)], 4);
      std::memcpy(&scales[1], &in_16_bits[at((i + 1) * kBytes - 2)], 4);
      EXPECT_EQ(scales[0], largest / 127) << target;
      EXPECT_EQ(scales[1], largest / 127) << target;
      for (std::int64_t j = 0; j < kColumns + 2; ++j) {  // up to whole quads
        const long wanted = j < kColumns ? std::lrint(x.view()(i, j) * (127 / largest)) : 0;
        EXPECT_EQ(in_8_bits[at(i * kBytes + j)] - 128, wanted) << target << " (" << i << ", " << j << ")";
        EXPECT_EQ(in_16_bits[at(i * kBytes + j)], wanted) << target << " (" << i << ", " << j << ")";
      }
    }
  });
}

}  // namespace
}  // namespace zhuyi::kernels
