// Products in bf16 against plain loops over rounded numbers, in every layout; only where the CPU has AVX512-BF16.

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/gemm_cases.h"

namespace zhuyi::kernels {
namespace {

class GemmInBf16 : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_precision(Precision::bf16)) GTEST_SKIP() << "skipped: no AVX512-BF16";
  }
};

TEST_F(GemmInBf16, EqualsPlainLoopOverRoundedNumbersAtOddSizes) { try_odd_sizes<float>(Precision::bf16); }
TEST_F(GemmInBf16, EqualsPlainLoopOverRoundedNumbersBeyondOneBlock) { try_big_sizes<float>(Precision::bf16); }

TEST_F(GemmInBf16, PackedRowsAndThreadsGiveTheSameBits) {
  const int before = base::threads();
  const std::vector<float> bias = numbers<float>(203, 8);
  GemmOptions<float> options{.scale = 0.7f, .bias = bias.data(), .accumulate = true, .precision = Precision::bf16};
  for (const Layout layout : {Layout::row_major, Layout::column_major}) {
    Framed<float> a(300, 531, layout, 10);
    Framed<float> b(531, 203, layout, 9);
    const std::vector<float> all = product<float>(a.view(), b.view(), options);
    const PackedMatrix packed(b.view(), Precision::bf16);
    EXPECT_LE(packed.bytes(), 532 * 208 * 2);
    for (const std::int64_t m : {1, 2, 3, 8, 64, 300}) {
      std::vector<float> c(static_cast<std::size_t>(m * 203), 0.5f);
      gemm(a.view().block(0, 0, m, 531), packed, Matrix<float>::dense(c.data(), m, 203), options);
      EXPECT_TRUE(same_bits(c, std::vector<float>(all.begin(), all.begin() + m * 203))) << "m " << m;
      const std::vector<float> plain = product<float>(a.view().block(0, 0, m, 531), b.view(), options);
      EXPECT_TRUE(same_bits(c, plain)) << "m " << m;
    }
    for (const int threads : {1, 2, 5}) {
      base::set_threads(threads);
      EXPECT_TRUE(same_bits(all, product<float>(a.view(), b.view(), options))) << threads << " threads";
    }
    base::set_threads(before);
  }
}

TEST_F(GemmInBf16, NotANumberStaysNotANumber) {
  std::vector<float> a(40, 1);
  const std::vector<float> b(40, 1);
  a[33] = std::numeric_limits<float>::quiet_NaN();
  float c = 0;
  gemm<float>(ConstMatrix<float>::dense(a.data(), 1, 40), ConstMatrix<float>::dense(b.data(), 40, 1),
              Matrix<float>::dense(&c, 1, 1), {.precision = Precision::bf16});
  EXPECT_TRUE(std::isnan(c));
}

TEST(GemmPrecision, IsRefusedWhereTheInstructionsAreMissing) {
  use_target(available_targets().back());
  EXPECT_FALSE(has_precision(Precision::bf16));
  EXPECT_TRUE(has_precision(Precision::f32));
  std::vector<float> x(4, 1);
  const Matrix<float> matrix = Matrix<float>::dense(x.data(), 2, 2);
  EXPECT_THROW(gemm<float>(matrix, matrix, matrix, {.precision = Precision::bf16}), base::Error);
  use_target("");
}

}  // namespace
}  // namespace zhuyi::kernels
