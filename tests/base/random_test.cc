// Random numbers: a function of the key, spread as they should be.

#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace zhuyi::base {
namespace {

// SplitMix64 (Steele, Lea, Flood, 2014) with the seed 0 starts with these numbers, the second with the state moved by
// the golden ratio (as in the reference program of Vigna, 2015).
TEST(Mix, IsTheFinaliserOfSplitMix64) {
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(mix(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

TEST(Combine, TellsEveryArgumentAndTheirOrderApart) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t a = 0; a < 10; ++a) {
    for (std::uint64_t b = 0; b < 10; ++b) {
      for (std::uint64_t c = 0; c < 10; ++c) keys.insert(combine(a, b, c));
      keys.insert(combine(a, b));
    }
    keys.insert(combine(a));
  }
  EXPECT_EQ(keys.size(), 1110u);
}

TEST(Random, IsAFunctionOfItsKey) {
  Random a(7);
  Random b(7);
  Random c(8);
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t x = a.bits();
    EXPECT_EQ(x, b.bits());
    equal += x == c.bits() ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
}

// A count of a bin is binomial; five standard deviations are allowed.
TEST(Random, IsUniform) {
  constexpr int kNumbers = 100000;
  constexpr int kBins = 20;
  std::vector<int> reals(kBins);
  std::vector<int> wholes(kBins);
  std::vector<int> pairs(kBins * kBins / 16);
  Random random(1);
  for (int i = 0; i < kNumbers; ++i) {
    const double x = random.uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    ++reals[static_cast<std::size_t>(x * kBins)];
    const std::int64_t n = random.below(kBins);
    ASSERT_GE(n, 0);
    ASSERT_LT(n, kBins);
    ++wholes[static_cast<std::size_t>(n)];
    ++pairs[static_cast<std::size_t>(5 * static_cast<int>(x * 5) + n / 4)];
  }
  const auto expect_even = [](const std::vector<int>& bins) {
    const double p = 1.0 / static_cast<double>(bins.size());
    const double deviation = std::sqrt(kNumbers * p * (1 - p));
    for (const int count : bins) EXPECT_NEAR(count, kNumbers * p, 5 * deviation);
  };
  expect_even(reals);
  expect_even(wholes);
  expect_even(pairs);
}

TEST(Random, BelowOneIsZeroAndTheLargestBoundWorks) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(random.below(1), 0);
    EXPECT_LT(random.below((std::int64_t{1} << 31) - 1), (std::int64_t{1} << 31) - 1);
  }
}

TEST(Random, NormalHasItsMoments) {
  constexpr int kNumbers = 200000;
  Random random(3);
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  int within_one = 0;
  for (int i = 0; i < kNumbers; ++i) {
    const double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    within_one += std::abs(x) < 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kNumbers, 0, 0.012);
  EXPECT_NEAR(squares / kNumbers, 1, 0.016);
  EXPECT_NEAR(fourth / kNumbers, 3, 0.11);
  EXPECT_NEAR(static_cast<double>(within_one) / kNumbers, 0.6827, 0.006);
}

TEST(Random, ShuffleIsAPermutationAndEveryPlaceIsReached) {
  constexpr int kItems = 6;
  constexpr int kRounds = 6000;
  std::vector<int> counts(kItems * kItems);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<int> items(kItems);
    std::iota(items.begin(), items.end(), 0);
    Random random(combine(4, round));
    random.shuffle(std::span(items));
    for (int index = 0; index < kItems; ++index) {
      ++counts[static_cast<std::size_t>(kItems * index + items[static_cast<std::size_t>(index)])];
    }
    std::sort(items.begin(), items.end());
    for (int i = 0; i < kItems; ++i) ASSERT_EQ(items[static_cast<std::size_t>(i)], i);
  }
  for (const int count : counts) EXPECT_NEAR(count, kRounds / kItems, 150);  // five standard deviations
  std::vector<int> none;
  Random(1).shuffle(std::span(none));
}

}  // namespace
}  // namespace zhuyi::base
