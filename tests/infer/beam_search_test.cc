// Beam search against exhaustive search, against a slow implementation of its rule, and against hand calculation.
#include "infer/beam_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "infer/slow_search.h"

namespace zhuyi::infer {
namespace {

std::vector<Hypothesis> search_one(std::int64_t vocabulary, const Table& table, std::int64_t source_length,
                                   const SearchOptions& options) {
  TableScorer scorer(vocabulary, table);
  return beam_search(scorer, std::vector<std::int64_t>{source_length}, options).at(0);
}

// Options drawn at random; the maximum length is the source's length.
SearchOptions random_options(base::Random& random, std::int64_t vocabulary) {
  SearchOptions options = toy_options();
  options.beam_size = 1 + random.below(5);
  options.n_best = 1 + random.below(options.beam_size);
  options.length_penalty = static_cast<LengthPenalty>(random.below(3));
  options.alpha = 1.5 * random.uniform();
  options.max_length_extra = 0;
  options.min_length = random.below(4);
  options.stop = random.below(3) == 0 ? Stop::beam_finished : Stop::bound;
  for (std::int32_t token = kEos + 1; token < vocabulary; ++token) {
    if (random.below(5) == 0) options.suppressed.push_back(token);
  }
  return options;
}

using Row = std::vector<float> (*)(std::int64_t, std::uint64_t, const Tokens&);

void compare_with_slow_search(Row row, std::int64_t cases, std::int64_t vocabulary_from, std::int64_t vocabulary_to) {
  for (std::int64_t i = 0; i < cases; ++i) {
    const std::uint64_t seed = base::combine(17, i);
    base::Random random(seed);
    const std::int64_t vocabulary = vocabulary_from + random.below(vocabulary_to - vocabulary_from + 1);
    const SearchOptions options = random_options(random, vocabulary);
    const std::int64_t max_length = 1 + random.below(8);
    const Table table = [&](std::int64_t, const Tokens& prefix) { return row(vocabulary, seed, prefix); };
    SCOPED_TRACE(fmt::format("case {}: beam {}, n_best {}, max_length {}, min_length {}", i, options.beam_size,
                             options.n_best, max_length, options.min_length));
    expect_same(search_one(vocabulary, table, max_length, options), slow_search({table, max_length, options}));
  }
}

TEST(BeamSearch, NarrowBeamFollowsTheRule) { compare_with_slow_search(random_row, 600, 2, 7); }

TEST(BeamSearch, TiesAndImpossibleTokensFollowTheRule) { compare_with_slow_search(coarse_row, 600, 2, 7); }

TEST(BeamSearch, LargeVocabulariesFollowTheRule) {
  compare_with_slow_search(random_row, 12, 900, 1000);
  compare_with_slow_search(coarse_row, 12, 120, 135);
}

TEST(BeamSearch, BeamAsWideAsTheTreeIsExhaustiveSearch) {
  for (const LengthPenalty form : {LengthPenalty::gnmt, LengthPenalty::power, LengthPenalty::none}) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const std::int64_t vocabulary = seed % 2 == 0 ? 4 : 5;
      const std::int64_t depth = seed % 3 == 0 ? 5 : 4;
      const Table table = [&](std::int64_t, const Tokens& prefix) { return random_row(vocabulary, seed, prefix); };
      SearchOptions options = toy_options();
      options.beam_size = 3200;  // more than 5^5
      options.n_best = seed < 6 ? 1 : 20;
      options.length_penalty = form;
      options.alpha = 0.2 + 0.15 * static_cast<double>(seed);
      options.max_length_extra = 0;
      std::vector<Hypothesis> expected = exhaustive(table, depth, options);
      expected.resize(static_cast<std::size_t>(options.n_best));
      SCOPED_TRACE(fmt::format("form {}, seed {}", static_cast<int>(form), seed));
      expect_same(search_one(vocabulary, table, depth, options), expected);
    }
  }
}

// Tokens: 0 bos, 1 eos, 2 a, 3 b. Probabilities of (eos, a, b): at the start (0, .6, .4); after a (.3, .4, .3); after b
// (.9, .05, .05); after two (1, 0, 0). Greedy takes a a: .6 .4 1 = .24; a beam of 2 finds b: .4 .9 = .36.
std::vector<float> hand_row(std::int64_t, const Tokens& prefix) {
  const auto row = [](float eos, float a, float b) {
    return std::vector<float>{kMinusInfinity, std::log(eos), std::log(a), std::log(b)};
  };
  if (prefix.empty()) return row(0, 0.6F, 0.4F);
  if (prefix.size() > 1) return row(1, 0, 0);
  return prefix[0] == 2 ? row(0.3F, 0.4F, 0.3F) : row(0.9F, 0.05F, 0.05F);
}

TEST(BeamSearch, HandCalculation) {
  SearchOptions options = toy_options();
  options.beam_size = 1;
  const std::vector<Hypothesis> greedy = search_one(4, hand_row, 3, options);
  ASSERT_EQ(greedy.size(), 1U);
  EXPECT_EQ(greedy[0].tokens, (Tokens{2, 2}));
  EXPECT_NEAR(greedy[0].log_probability, std::log(0.24), 1e-6);
  EXPECT_NEAR(greedy[0].score, std::log(0.24) / std::pow(8.0 / 6, 0.6), 1e-6);

  options.beam_size = 2;
  options.n_best = 2;
  options.length_penalty = LengthPenalty::none;
  const std::vector<Hypothesis> beam = search_one(4, hand_row, 3, options);
  ASSERT_EQ(beam.size(), 2U);
  EXPECT_EQ(beam[0].tokens, Tokens{3});
  EXPECT_NEAR(beam[0].score, std::log(0.36), 1e-6);
  EXPECT_EQ(beam[1].tokens, (Tokens{2, 2}));  // a eos (.18) is not among the first two: dropped
  EXPECT_NEAR(beam[1].score, std::log(0.24), 1e-6);
  EXPECT_TRUE(beam[0].finished && beam[1].finished);
  EXPECT_THAT(beam[0].token_log_probabilities,
              testing::ElementsAre(testing::FloatNear(-0.916291F, 1e-5F), testing::FloatNear(-0.105361F, 1e-5F)));
}

TEST(BeamSearch, TheBoundStopsWhenNothingLiveCanWin) {
  TableScorer scorer(4, hand_row);
  SearchOptions options = toy_options();
  options.beam_size = 2;
  options.length_penalty = LengthPenalty::none;
  EXPECT_EQ(beam_search(scorer, std::vector<std::int64_t>{3}, options)[0][0].tokens, Tokens{3});
  EXPECT_EQ(scorer.rows_of_steps,
            (std::vector<std::int64_t>{1, 2}));  // b eos (.36) beats a a (.24) and all that follow

  // Divided by n, a a eos scores log(.24) / 3 = -.476 and b eos log(.36) / 2 = -.511, so the search had to go on.
  scorer.rows_of_steps.clear();
  options.length_penalty = LengthPenalty::power;
  options.alpha = 1;
  EXPECT_EQ(beam_search(scorer, std::vector<std::int64_t>{3}, options)[0][0].tokens, (Tokens{2, 2}));
  EXPECT_EQ(scorer.rows_of_steps, (std::vector<std::int64_t>{1, 2, 2}));
}

TEST(BeamSearch, AllEqualTakesTheLowestTokensOfTheFirstParents) {
  const Table table = [](std::int64_t, const Tokens& prefix) {
    return prefix.size() < 2 ? std::vector<float>{-1, kMinusInfinity, -1, -1} : std::vector<float>{-9, -1, -9, -9};
  };
  SearchOptions options = toy_options();
  options.beam_size = options.n_best = 3;
  const std::vector<Hypothesis> found = search_one(4, table, 9, options);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].tokens, (Tokens{0, 0}));
  EXPECT_EQ(found[1].tokens, (Tokens{0, 2}));
  EXPECT_EQ(found[2].tokens, (Tokens{0, 3}));
}

TEST(BeamSearch, SumsThatDifferBelowFloatPrecisionAreTold) {
  // After 2 everything sums to -2 - 1e-12, which as a float is -2; after 3 token 0 gives -2 exactly and must win.
  const Table table = [](std::int64_t, const Tokens& prefix) {
    if (prefix.empty()) return std::vector<float>{-9, -9, -1e-12F, -1, -9};
    return prefix[0] == 2 ? std::vector<float>{-2, -9, -2, -2, -2} : std::vector<float>{-1, -9, -9, -9, -9};
  };
  SearchOptions options = toy_options();
  options.beam_size = 2;
  options.max_length = 2;
  EXPECT_EQ(search_one(5, table, 2, options).at(0).tokens, (Tokens{3, 0}));
}

// The sentences of a call, their own seed and length each.
std::vector<std::vector<Hypothesis>> search_many(const std::vector<std::int64_t>& seeds, const SearchOptions& options) {
  const Table table = [&](std::int64_t sentence, const Tokens& prefix) {
    return random_row(6, static_cast<std::uint64_t>(seeds[static_cast<std::size_t>(sentence)]), prefix);
  };
  std::vector<std::int64_t> lengths;
  for (const std::int64_t seed : seeds) lengths.push_back(seed % 7);
  TableScorer scorer(6, table);
  return beam_search(scorer, lengths, options);
}

TEST(BeamSearch, SentencesDoNotInfluenceEachOther) {
  SearchOptions options = toy_options();
  options.n_best = 3;
  options.max_length_extra = 3;
  std::vector<std::int64_t> seeds(40);
  std::iota(seeds.begin(), seeds.end(), 100);
  const auto together = search_many(seeds, options);
  const auto reversed = search_many(std::vector<std::int64_t>(seeds.rbegin(), seeds.rend()), options);
  ASSERT_EQ(together.size(), seeds.size());
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    SCOPED_TRACE(i);
    const auto alone = search_many({seeds[i]}, options).at(0);
    for (const auto& other : {alone, reversed.at(seeds.size() - 1 - i)}) {
      expect_same(together[i], other);
      for (std::size_t h = 0; h < other.size(); ++h) EXPECT_EQ(together[i][h].score, other[h].score);
    }
    for (const Hypothesis& hypothesis : alone) {
      EXPECT_LE(std::ssize(hypothesis.token_log_probabilities), seeds[i] % 7 + 3);
    }
  }
}

TEST(BeamSearch, BeamOfOneIsGreedy) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Table table = [&](std::int64_t, const Tokens& prefix) { return random_row(5, seed, prefix); };
    Tokens expected;
    double sum = 0;
    bool finished = false;
    while (!finished && expected.size() < 6) {
      const std::vector<float> row = table(0, expected);
      const auto best = std::max_element(row.begin(), row.end());
      sum += static_cast<double>(*best);
      finished = best - row.begin() == kEos;
      if (!finished) expected.push_back(static_cast<std::int32_t>(best - row.begin()));
    }
    SearchOptions options = toy_options();
    options.beam_size = 1;
    options.alpha = 2;  // long hypotheses score high; the first eos ends all the same
    options.max_length = 6;
    const std::vector<Hypothesis> found = search_one(5, table, 9, options);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].tokens, expected);
    EXPECT_EQ(found[0].log_probability, sum);
    EXPECT_EQ(found[0].finished, finished);
  }
}

TEST(BeamSearch, FinishedSentencesAreNoLongerScored) {
  // Sentence i ends after i + 1 tokens for certain; a beam of 1 has one row a sentence.
  const Table table = [](std::int64_t sentence, const Tokens& prefix) {
    const bool ends = std::ssize(prefix) == sentence + 1;
    return ends ? std::vector<float>{-9, 0, -9} : std::vector<float>{-9, -9, 0};
  };
  TableScorer scorer(3, table);
  SearchOptions options = toy_options();
  options.beam_size = 1;
  const auto found = beam_search(scorer, std::vector<std::int64_t>{5, 5, 5}, options);
  EXPECT_EQ(scorer.rows_of_steps, (std::vector<std::int64_t>{3, 3, 2, 1}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].at(0).tokens, Tokens(i + 1, 2));
}

TEST(BeamSearch, UnfinishedHypothesesAreReturnedWhenNothingEnds) {
  const Table table = [](std::int64_t, const Tokens&) { return std::vector<float>{-4, -9, -0.5F, -1}; };
  SearchOptions options = toy_options();
  options.beam_size = options.n_best = 2;
  options.max_length_extra = 1;
  options.length_penalty = LengthPenalty::power;
  options.alpha = 1;
  const std::vector<Hypothesis> found = search_one(4, table, 1, options);
  expect_same(found,
              {{.tokens = {2, 2}, .score = -0.5, .log_probability = -1, .token_log_probabilities = {-0.5F, -0.5F}},
               {.tokens = {2, 3}, .score = -0.75, .log_probability = -1.5, .token_log_probabilities = {-0.5F, -1}}});
}

TEST(BeamSearch, NoPermittedTokenLeavesAnEmptyUnfinishedHypothesis) {
  const Table table = [](std::int64_t, const Tokens&) { return std::vector<float>{kMinusInfinity, -1, -1}; };
  SearchOptions options = toy_options();
  options.suppressed = {2};
  options.min_length = 1;
  expect_same(search_one(3, table, 4, options), {Hypothesis{}});
}

TEST(BeamSearch, NoSentencesNeedNoScores) {
  TableScorer scorer(4, hand_row);
  EXPECT_TRUE(beam_search(scorer, {}, toy_options()).empty());
  EXPECT_TRUE(scorer.rows_of_steps.empty());
}

// The error that a search of two sentences of length 3 ends with.
base::Error error_of(std::int64_t vocabulary, const Table& table, const SearchOptions& options = toy_options()) {
  TableScorer scorer(vocabulary, table);
  try {
    beam_search(scorer, std::vector<std::int64_t>{3, 3}, options);
  } catch (const base::Error& error) {
    return error;
  }
  return {base::ErrorKind::internal, "nothing was thrown"};
}

TEST(BeamSearch, NotANumberIsAnErrorThatNamesSentenceAndStep) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 2.0F}) {
    const base::Error error = error_of(200, [&](std::int64_t sentence, const Tokens& prefix) {
      std::vector<float> row(200, -5.3F);
      row[kEos] = -9;
      if (sentence == 1 && prefix.size() == 2) row[170] = bad;
      return row;
    });
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_model);
    EXPECT_THAT(error.message(), testing::HasSubstr("sentence 1, step 3: token 170"));
  }
}

TEST(BeamSearch, ARowOfTheWrongLengthIsAnError) {
  class NarrowScorer : public TableScorer {
   public:
    NarrowScorer() : TableScorer(4, hand_row) {}
    std::int64_t vocabulary() const override { return 5; }
  };
  NarrowScorer scorer;
  try {
    beam_search(scorer, std::vector<std::int64_t>{3, 3}, toy_options());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::internal);
    EXPECT_THAT(error.message(), testing::HasSubstr("gave [2, 4] with column stride 1, expected [2, 5]"));
  }
}

TEST(BeamSearch, OptionsAreChecked) {
  const auto message = [](const std::function<void(SearchOptions&)>& change) {
    SearchOptions options = toy_options();
    change(options);
    const base::Error error = error_of(4, hand_row, options);
    EXPECT_EQ(error.kind(), base::ErrorKind::invalid_argument);
    return error.message();
  };
  EXPECT_THAT(message([](auto& o) { o.bos = -1; }), testing::HasSubstr("bos is -1, expected a token in [0, 4)"));
  EXPECT_THAT(message([](auto& o) { o.eos = 4; }), testing::HasSubstr("eos is 4"));
  EXPECT_THAT(message([](auto& o) { o.beam_size = 0; }), testing::HasSubstr("beam_size is 0"));
  EXPECT_THAT(message([](auto& o) { o.n_best = 5; }), testing::HasSubstr("n_best is 5, expected 1 to beam_size"));
  EXPECT_THAT(message([](auto& o) { o.alpha = -0.1; }), testing::HasSubstr("alpha is -0.1"));
  EXPECT_THAT(message([](auto& o) { o.min_length = -1; }), testing::HasSubstr("min_length is -1"));
  EXPECT_THAT(message([](auto& o) { o.max_length = 0; }), testing::HasSubstr("max_length is 0"));
  EXPECT_THAT(message([](auto& o) { o.suppressed = {7}; }), testing::HasSubstr("suppressed token 7"));
  EXPECT_THAT(message([](auto& o) { o.suppressed = {kEos}; }), testing::HasSubstr("nothing could end"));
}

TEST(LengthPenalty, HandValues) {
  EXPECT_DOUBLE_EQ(length_penalty(LengthPenalty::gnmt, 0.6, 1), 1.0);
  EXPECT_NEAR(length_penalty(LengthPenalty::gnmt, 0.6, 7), 1.515716566510398, 1e-14);  // 2^0.6
  EXPECT_DOUBLE_EQ(length_penalty(LengthPenalty::gnmt, 1, 4), 1.5);
  EXPECT_DOUBLE_EQ(length_penalty(LengthPenalty::power, 0.5, 16), 4.0);
  EXPECT_DOUBLE_EQ(length_penalty(LengthPenalty::none, 0.6, 16), 1.0);
  EXPECT_THROW(length_penalty(LengthPenalty::power, 1, 0), base::Error);
}

TEST(MaximumLength, PaperFactorAndCap) {
  SearchOptions options;
  EXPECT_EQ(maximum_length(options, 0), 50);
  EXPECT_EQ(maximum_length(options, 12), 62);
  EXPECT_EQ(maximum_length(options, 50000), 1024);
  options.max_length_factor = 1.25;
  options.max_length_extra = 0;
  EXPECT_EQ(maximum_length(options, 10), 12);
  EXPECT_EQ(maximum_length(options, 0), 1);
  EXPECT_THROW(maximum_length(options, -1), base::Error);
}

}  // namespace
}  // namespace zhuyi::infer
