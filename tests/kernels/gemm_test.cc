// Matrix products against plain loops in double, at odd sizes, in every layout, on every instruction set.

#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/parallel.h"
#include "kernels/gemm_cases.h"
#include "kernels/peak.h"

namespace zhuyi::kernels {
namespace {

class GemmOnTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_target(GetParam()); }
  void TearDown() override { use_target(""); }
};

TEST_P(GemmOnTarget, EqualsPlainLoopInFloatAtOddSizes) { try_odd_sizes<float>(); }
TEST_P(GemmOnTarget, EqualsPlainLoopInDoubleAtOddSizes) { try_odd_sizes<double>(); }

TEST_P(GemmOnTarget, EqualsPlainLoopBeyondOneBlockInFloat) { try_big_sizes<float>(); }
TEST_P(GemmOnTarget, EqualsPlainLoopBeyondOneBlockInDouble) { try_big_sizes<double>(); }

TEST_P(GemmOnTarget, ScalesAddsBiasAndAccumulates) {
  for (const double scale : {1.0, 0.125, -3.0}) {
    for (const bool bias : {false, true}) {
      for (const bool accumulate : {false, true}) {
        for (const std::int64_t k : {5, 300}) {
          const Case sizes{.m = 19, .k = k, .n = 37, .scale = scale, .bias = bias, .accumulate = accumulate};
          expect_equal_to_plain_loop<float>(sizes);
          expect_equal_to_plain_loop<double>(sizes);
        }
      }
    }
  }
}

TEST_P(GemmOnTarget, GivesBiasOrZerosWithoutTerms) {
  const std::vector<float> bias = {1, 2, 3};
  std::vector<float> c = {9, 9, 9, 9, 9, 9};
  gemm<float>({nullptr, 2, 0, 0, 1}, {nullptr, 0, 3, 3, 1}, Matrix<float>::dense(c.data(), 2, 3), {});
  EXPECT_EQ(c, std::vector<float>({0, 0, 0, 0, 0, 0}));
  const GemmOptions<float> options{.bias = bias.data(), .accumulate = true};
  gemm<float>({nullptr, 2, 0, 0, 1}, {nullptr, 0, 3, 3, 1}, Matrix<float>::dense(c.data(), 2, 3), options);
  gemm<float>({nullptr, 2, 0, 0, 1}, {nullptr, 0, 3, 3, 1}, Matrix<float>::dense(c.data(), 2, 3), options);
  EXPECT_EQ(c, std::vector<float>({2, 4, 6, 2, 4, 6}));
  std::vector<float> many(200 * 3, 5);  // more rows than one tile has
  gemm<float>({nullptr, 200, 0, 0, 1}, {nullptr, 0, 3, 3, 1}, Matrix<float>::dense(many.data(), 200, 3), {});
  EXPECT_EQ(many, std::vector<float>(600, 0));
}

TEST_P(GemmOnTarget, DoesNothingWithoutRowsOrColumns) {
  std::vector<float> b(12, 1);
  std::vector<float> c(12, 7);
  gemm<float>({nullptr, 0, 3, 3, 1}, Matrix<float>::dense(b.data(), 3, 4), Matrix<float>::dense(c.data(), 0, 4), {});
  gemm<float>(Matrix<float>::dense(b.data(), 4, 3), {nullptr, 3, 0, 0, 1}, Matrix<float>::dense(c.data(), 4, 0), {});
  EXPECT_EQ(c, std::vector<float>(12, 7));
}

template <class T>
void expect_rows_equal_alone(std::int64_t m, std::int64_t k, std::int64_t n, Layout layout_a, Layout layout_b) {
  Framed<T> a(m, k, layout_a, 5);
  Framed<T> b(k, n, layout_b, 6);
  const std::vector<T> bias = numbers<T>(n, 7);
  const GemmOptions<T> options{.scale = T(0.3), .bias = bias.data(), .accumulate = true};
  const std::vector<T> all = product<T>(a.view(), b.view(), options);
  for (std::int64_t i = 0; i < m; ++i) {
    const std::vector<T> alone = product<T>(a.view().block(i, 0, 1, k), b.view(), options);
    const std::vector<T> row(all.begin() + i * n, all.begin() + (i + 1) * n);
    EXPECT_TRUE(same_bits(row, alone)) << current_target() << " row " << i << " of " << m << " x " << k << " x " << n;
  }
  for (const std::int64_t rows : {2, 3, 13, 29, 64}) {
    const std::vector<T> some = product<T>(a.view().block(1, 0, rows, k), b.view(), options);
    const std::vector<T> same(all.begin() + n, all.begin() + (1 + rows) * n);
    EXPECT_TRUE(same_bits(same, some)) << current_target() << " rows 1 to " << rows;
  }
  for (const std::int64_t columns : {1, 15, 40}) {  // a column does not depend on its neighbours either
    const std::vector<T> some = product<T>(a.view(), b.view().block(0, 9, k, columns),
                                           {.scale = T(0.3), .bias = bias.data() + 9, .accumulate = true});
    for (std::int64_t i = 0; i < m; ++i) {
      const std::vector<T> row(some.begin() + i * columns, some.begin() + (i + 1) * columns);
      const std::vector<T> same(all.begin() + i * n + 9, all.begin() + i * n + 9 + columns);
      EXPECT_TRUE(same_bits(row, same)) << current_target() << " columns 9 to " << 9 + columns;
    }
  }
}

TEST_P(GemmOnTarget, RowsDoNotDependOnOtherRowsOrColumns) {
  for (const Layout a : {Layout::row_major, Layout::column_major}) {
    for (const Layout b : {Layout::row_major, Layout::column_major}) {
      expect_rows_equal_alone<float>(100, 300, 70, a, b);
      expect_rows_equal_alone<double>(100, 300, 70, a, b);
    }
  }
  expect_rows_equal_alone<float>(300, 600, 77, Layout::row_major, Layout::row_major);
}

TEST_P(GemmOnTarget, PackedEqualsPlainBitForBit) {
  const std::vector<float> bias = numbers<float>(203, 8);
  const GemmOptions<float> options{.scale = 0.7f, .bias = bias.data(), .accumulate = true};
  for (const Layout layout : {Layout::row_major, Layout::column_major}) {
    Framed<float> b(530, 203, layout, 9);
    const PackedMatrix packed(b.view());
    EXPECT_EQ(packed.rows(), 530);
    EXPECT_EQ(packed.columns(), 203);
    EXPECT_GE(packed.bytes(), 530 * 203 * 4);
    for (const std::int64_t m : {1, 2, 3, 8, 64, 300}) {
      Framed<float> a(m, 530, Layout::row_major, 10);
      std::vector<float> c(static_cast<std::size_t>(m * 203), 0.5f);
      gemm(a.view(), packed, Matrix<float>::dense(c.data(), m, 203), options);
      EXPECT_TRUE(same_bits(c, product<float>(a.view(), b.view(), options))) << current_target() << " m " << m;
    }
  }
}

TEST_P(GemmOnTarget, ThreadsDoNotChangeTheResult) {
  const int before = base::threads();
  for (const std::int64_t m : {1, 20, 250}) {
    Framed<float> a(m, 700, Layout::row_major, 11);
    Framed<float> b(700, 2300, Layout::row_major, 12);
    base::set_threads(1);
    const std::vector<float> one = product<float>(a.view(), b.view(), {});
    for (const int threads : {2, 5}) {
      base::set_threads(threads);
      EXPECT_TRUE(same_bits(one, product<float>(a.view(), b.view(), {}))) << current_target() << " m " << m;
    }
    EXPECT_TRUE(same_bits(one, product<float>(a.view(), b.view(), {.parallel = false})));
  }
  base::set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Targets, GemmOnTarget, testing::ValuesIn(available_targets()),
                         [](const auto& info) { return info.param; });

TEST(Gemm, RefusesWrongShapesAndStrides) {
  std::vector<float> x(1000);
  const auto dense = [&](std::int64_t rows, std::int64_t columns) {
    return Matrix<float>::dense(x.data(), rows, columns);
  };
  EXPECT_THROW(gemm<float>(dense(2, 3), dense(4, 5), dense(2, 5)), base::Error);
  EXPECT_THROW(gemm<float>(dense(2, 3), dense(3, 5), dense(3, 5)), base::Error);
  EXPECT_THROW(gemm<float>(dense(2, 3), dense(3, 5), dense(2, 4)), base::Error);
  const Matrix<float> scattered{x.data(), 3, 3, 20, 2};
  EXPECT_THROW(gemm<float>(scattered, dense(3, 3), dense(3, 3)), base::Error);
  EXPECT_THROW(gemm<float>(dense(3, 3), scattered, dense(3, 3)), base::Error);
  EXPECT_THROW(gemm<float>(dense(3, 3), dense(3, 3), dense(3, 3).transposed()), base::Error);
  EXPECT_THROW(PackedMatrix{scattered}, base::Error);
  EXPECT_THROW(gemm(dense(2, 3), PackedMatrix(dense(4, 5)), dense(2, 5)), base::Error);
}

TEST(Targets, CanBeChosenAndGivenBack) {
  const std::vector<std::string> targets = available_targets();
  ASSERT_FALSE(targets.empty());
  EXPECT_EQ(current_target(), targets.front());
  for (const std::string& target : targets) {
    use_target(target);
    EXPECT_EQ(current_target(), target);
    EXPECT_EQ(available_targets(), targets);
  }
  use_target("");
  EXPECT_EQ(current_target(), targets.front());
  EXPECT_THROW(use_target("MMX"), base::Error);
}

TEST(Targets, PathsCanBeChosenByTheWordsOfTheProgram) {
  const std::vector<std::string> paths = available_paths();
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(current_path(), paths.front());
  for (const std::string& path : paths) {
    use_path(path);
    EXPECT_EQ(current_path(), path);
    EXPECT_EQ(has_amx(), path == "amx");
    EXPECT_EQ(has_avx_vnni(), path == "avxvnni");
  }
  use_path(paths.front());
  EXPECT_THROW(use_path("AVX2"), base::Error);
}

// After many steps of x / 2 + 1 / 4 every number is 1 / 2, so twice the sum says how many numbers there are; and a step
// is one multiply-add of each. After one step it shows in the sum where they began: at 0, 1, 2, ... in equal lanes.
TEST(Peak, CountsTheMultiplyAddsThatItDoes) {
  for (const std::string& target : available_targets()) {
    use_target(target);
    const PeakChains end = run_peak_chains(Precision::f32, 100);
    const auto count = static_cast<std::int64_t>(2 * end.sum);
    EXPECT_EQ(end.multiply_adds, 100 * count) << target;
    const auto begin_of = [&](std::int64_t lanes) {
      const std::int64_t chains = count / lanes;
      return static_cast<float>(lanes * chains * (chains - 1) / 2);
    };
    const bool one_lane = begin_of(1) == run_peak_chains(Precision::f32, 0).sum;  // plain code of g++; clang's has 4
    const float begin = begin_of(target == "SSE2" ? (one_lane ? 1 : 4) : target == "AVX2" ? 8 : 16);
    EXPECT_EQ(run_peak_chains(Precision::f32, 0).sum, begin) << target;
    EXPECT_EQ(run_peak_chains(Precision::f32, 1).sum, begin / 2 + static_cast<float>(count) / 4) << target;
  }
  use_target("");
  EXPECT_GT(peak_gflops(2, Precision::f32, 0.001), 0);
  EXPECT_THROW(peak_gflops(0), base::Error);
  EXPECT_THROW(peak_gflops(1, Precision::int8), base::Error);
}

// A step adds 1 / 8 to each chain; it takes 32 products of bf16, two in each of 16 lanes.
TEST(Peak, CountsTheMultiplyAddsInBf16) {
  if (!has_bf16()) {
    EXPECT_THROW(peak_gflops(1, Precision::bf16), base::Error);
    GTEST_SKIP() << "skipped: no AVX512-BF16";
  }
  if (has_amx()) GTEST_SKIP() << "skipped: AMX multiplies zeros";
  const PeakChains end = run_peak_chains(Precision::bf16, 200);
  const float added = end.sum - run_peak_chains(Precision::bf16, 0).sum;
  EXPECT_EQ(end.multiply_adds, static_cast<std::int64_t>(added * 8) * 32);
  EXPECT_GT(end.multiply_adds, 0);
}

}  // namespace
}  // namespace zhuyi::kernels
