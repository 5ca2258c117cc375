#include "metrics/ngrams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace zhuyi::metrics {
namespace {

// The definition, with plain maps.
NgramCounts counted_by_maps(const std::vector<std::uint32_t>& hypothesis, const std::vector<std::uint32_t>& reference,
                            std::ptrdiff_t n) {
  const auto count = [n](const std::vector<std::uint32_t>& symbols) {
    std::map<std::vector<std::uint32_t>, std::int64_t> counts;
    for (auto at = symbols.begin(); symbols.end() - at >= n; ++at) ++counts[{at, at + n}];
    return counts;
  };
  const auto in_reference = count(reference);
  NgramCounts result;
  for (const auto& [ngram, times] : in_reference) result.reference += times;
  for (const auto& [ngram, times] : count(hypothesis)) {
    result.hypothesis += times;
    const auto found = in_reference.find(ngram);
    if (found != in_reference.end()) result.matches += std::min(times, found->second);
  }
  return result;
}

TEST(CountNgrams, EqualsCountingWithMaps) {
  base::Random random(7);
  for (int round = 0; round < 200; ++round) {
    const auto draw = [&] {
      std::vector<std::uint32_t> symbols(static_cast<std::size_t>(random.below(30)));
      // Few different symbols make many repeated n-grams; the largest value must not spill into its neighbour.
      for (std::uint32_t& symbol : symbols)
        symbol = random.below(8) == 0 ? 0xffffffffu : static_cast<std::uint32_t>(random.below(3));
      return symbols;
    };
    const std::vector<std::uint32_t> hypothesis = draw();
    const std::vector<std::uint32_t> reference = draw();
    const std::vector<NgramCounts> counts = count_ngrams(hypothesis, reference, 6);
    ASSERT_EQ(counts.size(), 6u);
    for (std::size_t n = 1; n <= 6; ++n) {
      const NgramCounts expected = counted_by_maps(hypothesis, reference, static_cast<std::ptrdiff_t>(n));
      EXPECT_EQ(counts[n - 1].hypothesis, expected.hypothesis) << "order " << n << ", round " << round;
      EXPECT_EQ(counts[n - 1].reference, expected.reference) << "order " << n << ", round " << round;
      EXPECT_EQ(counts[n - 1].matches, expected.matches) << "order " << n << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace zhuyi::metrics
