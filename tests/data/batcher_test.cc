#include "data/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"

namespace zhuyi::data {
namespace {

// Lengths 1 to 40, the target a little different.
std::vector<PairLength> some_lengths() {
  std::vector<PairLength> lengths;
  for (std::int64_t i = 0; i < 1000; ++i) lengths.push_back({1 + i * 37 % 40, 1 + (i * 37 % 40 + i % 3)});
  return lengths;
}

std::vector<std::int64_t> flattened(const std::vector<std::vector<std::int64_t>>& batches) {
  std::vector<std::int64_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

TEST(Batcher, EveryPairOnceWithinTheBudget) {
  const std::vector<PairLength> lengths = some_lengths();
  for (const std::int64_t pool : {1, 4, 1000}) {
    const auto batches = plan_epoch(lengths, {.tokens = 256, .pool = pool, .seed = 3}, 5);
    for (const auto& batch : batches) {
      std::int64_t source = 0;
      std::int64_t target = 0;
      for (const std::int64_t pair : batch) {
        source += lengths[static_cast<std::size_t>(pair)].source;
        target += lengths[static_cast<std::size_t>(pair)].target;
      }
      EXPECT_LE(source, 256);
      EXPECT_LE(target, 256);
      EXPECT_FALSE(batch.empty());
    }
    std::vector<std::int64_t> all = flattened(batches);
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), lengths.size());
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
  }
}

TEST(Batcher, OrderIsAFunctionOfSeedAndEpoch) {
  const std::vector<PairLength> lengths = some_lengths();
  const BatcherOptions options{.tokens = 200, .pool = 8, .seed = 7};
  EXPECT_EQ(plan_epoch(lengths, options, 2), plan_epoch(lengths, options, 2));
  EXPECT_NE(flattened(plan_epoch(lengths, options, 2)), flattened(plan_epoch(lengths, options, 3)));
  EXPECT_NE(flattened(plan_epoch(lengths, options, 2)),
            flattened(plan_epoch(lengths, {.tokens = 200, .pool = 8, .seed = 8}, 2)));
}

// With one pool for all, lengths in a batch differ by little: 40 lengths over about 80 batches.
TEST(Batcher, SimilarLengthsStandTogether) {
  const std::vector<PairLength> lengths = some_lengths();
  const auto longer = [&](std::int64_t i) {
    return std::max(lengths[static_cast<std::size_t>(i)].source, lengths[static_cast<std::size_t>(i)].target);
  };
  const auto spread = [&](std::int64_t pool) {
    std::int64_t most = 0;
    for (const auto& batch : plan_epoch(lengths, {.tokens = 256, .pool = pool, .seed = 1}, 0)) {
      for (const std::int64_t a : batch) {
        for (const std::int64_t b : batch) {
          most = std::max(most, std::abs(longer(a) - longer(b)));
        }
      }
    }
    return most;
  };
  EXPECT_GT(spread(1), 30);
  EXPECT_LT(spread(1000), 12);
}

TEST(Batcher, ABatchIsFilledByTheUnitThatIsAskedFor) {
  const std::vector<PairLength> lengths = some_lengths();
  for (const BatchUnit unit : {BatchUnit::target, BatchUnit::sum, BatchUnit::sentences}) {
    const auto batches = plan_epoch(lengths, {.tokens = 100, .unit = unit, .pool = 4, .seed = 3}, 0);
    std::int64_t fullest = 0;
    for (const auto& batch : batches) {
      std::int64_t filled = 0;
      for (const std::int64_t pair : batch) {
        const PairLength& length = lengths[static_cast<std::size_t>(pair)];
        filled += unit == BatchUnit::sentences ? 1 : length.target + (unit == BatchUnit::sum ? length.source : 0);
      }
      EXPECT_LE(filled, 100);
      fullest = std::max(fullest, filled);
    }
    EXPECT_GT(fullest, 90);
    EXPECT_EQ(batch_unit_of(name_of(unit)), unit);
  }
  EXPECT_THROW(batch_unit_of("words"), base::Error);
}

// 0.25, 1, 2.5 times an epoch on average, over 400 epochs: within five standard deviations.
TEST(Batcher, WeightsAreHowOftenAPairIsSeen) {
  const std::vector<PairLength> lengths(4, {3, 3});
  const std::vector<float> weights = {0.25F, 1, 2.5F, 0};
  std::vector<double> seen(4, 0.0);
  for (std::int64_t epoch = 0; epoch < 400; ++epoch) {
    std::vector<std::int64_t> all = flattened(plan_epoch(lengths, {.tokens = 6, .pool = 2, .seed = 1}, epoch, weights));
    EXPECT_EQ(std::count(all.begin(), all.end(), 1), 1);
    EXPECT_GE(std::count(all.begin(), all.end(), 2), 2);
    EXPECT_LE(std::count(all.begin(), all.end(), 2), 3);
    for (const std::int64_t pair : all) seen[static_cast<std::size_t>(pair)] += 1.0 / 400;
  }
  EXPECT_NEAR(seen[0], 0.25, 5 * 0.0217);
  EXPECT_NEAR(seen[1], 1, 1e-9);
  EXPECT_NEAR(seen[2], 2.5, 5 * 0.025);
  EXPECT_EQ(seen[3], 0);
  const std::vector<float> too_few = {1};
  EXPECT_THROW(plan_epoch(lengths, {}, 0, too_few), base::Error);
}

TEST(Batcher, BatchesOfMixedLengthsAreFull) {
  const std::vector<PairLength> lengths = some_lengths();
  const auto batches = plan_epoch(lengths, {.tokens = 256, .pool = 1, .seed = 1}, 0);
  ASSERT_GE(batches.size(), 80u);  // 1,000 pairs of 20.5 tokens on average
  for (std::size_t i = 0; i + 1 < batches.size(); ++i) {
    PairLength sum;
    for (const std::int64_t pair : batches[i]) {
      sum.source += lengths[static_cast<std::size_t>(pair)].source;
      sum.target += lengths[static_cast<std::size_t>(pair)].target;
    }
    const PairLength& next = lengths[static_cast<std::size_t>(batches[i + 1].front())];
    EXPECT_GT(std::max(sum.source + next.source, sum.target + next.target), 256) << "batch " << i;
  }
}

TEST(Batcher, APairLongerThanTheBudgetStandsAlone) {
  const std::vector<PairLength> lengths = {{5, 5}, {500, 3}, {5, 5}};
  const auto batches = plan_epoch(lengths, {.tokens = 100, .pool = 1, .seed = 1}, 0);
  EXPECT_EQ(std::count(batches.begin(), batches.end(), std::vector<std::int64_t>{1}), 1);
  std::vector<std::int64_t> all = flattened(batches);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<std::int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace zhuyi::data
