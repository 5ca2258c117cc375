// The guard against loops, calculated by hand; search_options_test.cc compares it with the obvious implementation.

#include <gtest/gtest.h>

#include <cmath>

#include "infer/search_options.h"
#include "infer/toy_search.h"

namespace zhuyi::infer {
namespace {

// After every prefix the same: token 2 has probability 0.6, token 3 has 0.3, eos 0.1.
std::vector<float> constant_row(std::int64_t /*sentence*/, const Tokens& /*prefix*/) {
  return {kMinusInfinity, std::log(0.1F), std::log(0.6F), std::log(0.3F)};
}

// Token 2 is always the best. With at most three in a row it gives way to 3 each fourth time; with one, after 2 3 2
// neither 2 nor 3 (which would repeat the block 2 3) may follow, and only the end is left.
TEST(Repeats, NoBlockIsRepeatedForEver) {
  SearchOptions options = toy_options();
  options.beam_size = 1;
  options.max_length = 14;
  const auto found = [&](std::int64_t repeats_of_source) {
    TableScorer scorer(4, constant_row);
    const SentenceOptions own{.repeats = repeats_of_source};
    const std::vector<std::int64_t> lengths = {40};
    return beam_search(scorer, lengths, options, {&own, 1}).at(0).at(0).tokens;
  };
  options.max_repeats = 3;
  EXPECT_EQ(found(1), (Tokens{2, 2, 2, 3, 2, 2, 2, 3, 2, 2, 2, 3, 2, 2}));
  EXPECT_EQ(found(5), (Tokens{2, 2, 2, 2, 2, 3, 2, 2, 2, 2, 2, 3, 2, 2}));
  options.max_repeats = 1;
  EXPECT_EQ(found(0), (Tokens{2, 3, 2}));
  options.max_repeats = 0;
  EXPECT_EQ(found(1), Tokens(14, 2));
}

TEST(Repeats, RepeatsOfASequence) {
  EXPECT_EQ(most_repeats(Tokens{}), 0);
  EXPECT_EQ(most_repeats(Tokens{5}), 1);
  EXPECT_EQ(most_repeats(Tokens{5, 6, 5}), 1);
  EXPECT_EQ(most_repeats(Tokens{5, 6, 5, 6, 5}), 2);
  EXPECT_EQ(most_repeats(Tokens{9, 5, 5, 5, 9, 7, 7}), 3);
  Tokens longest = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(most_repeats(longest), 2);
  EXPECT_EQ(most_repeats(Tokens{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9}), 1);  // a block of nine
}

}  // namespace
}  // namespace zhuyi::infer
