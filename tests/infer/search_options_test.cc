// Every option of the search against the slow, obvious implementation of its rule, and some against hand calculation.
#include "infer/search_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "infer/slow_search.h"

namespace zhuyi::infer {
namespace {

using ::testing::HasSubstr;

std::vector<Hypothesis> search(const SlowTask& task, std::int64_t vocabulary) {
  TableScorer scorer(vocabulary, task.table);
  scorer.source_length = task.source_length;
  const std::vector<std::int64_t> lengths = {task.source_length};
  return beam_search(scorer, lengths, task.options, {&task.own, 1}).at(0);
}

Tokens random_tokens(base::Random& random, std::int64_t vocabulary, std::int64_t least, std::int64_t most) {
  Tokens tokens;
  for (std::int64_t n = least + random.below(most - least + 1); n > 0; --n) {
    const auto token = static_cast<std::int32_t>(random.below(vocabulary));
    tokens.push_back(token == kEos ? 0 : token);
  }
  return tokens;
}

// A task whose maximum length is what the options of the search make of the source's length.
SlowTask plain_task(base::Random& random) {
  SlowTask task{.table = {}, .options = toy_options()};
  task.options.beam_size = 1 + random.below(5);
  task.options.n_best = 1 + random.below(task.options.beam_size);
  task.options.alpha = 1.2 * random.uniform();
  task.options.max_length_extra = 2;
  task.source_length = 1 + random.below(6);
  task.max_length = task.source_length + 2;
  return task;
}

// Many random cases, each with what `change` adds.
template <class Change>
void compare(std::int64_t cases, const Change& change) {
  for (std::int64_t i = 0; i < cases; ++i) {
    const std::uint64_t seed = base::combine(31, i);
    base::Random random(seed);
    const std::int64_t vocabulary = 3 + random.below(6);
    SlowTask task = plain_task(random);
    const bool coarse = random.below(3) == 0;
    task.table = [=](std::int64_t, const Tokens& prefix) {
      return coarse ? coarse_row(vocabulary, seed, prefix) : random_row(vocabulary, seed, prefix);
    };
    change(task, random, vocabulary);
    SCOPED_TRACE(fmt::format("case {}: beam {}, n_best {}, source {}, vocabulary {}", i, task.options.beam_size,
                             task.options.n_best, task.source_length, vocabulary));
    expect_same(search(task, vocabulary), slow_search(task));
  }
}

void add_coverage(SlowTask& task, base::Random& random, std::int64_t /*vocabulary*/) {
  task.options.coverage_penalty = 0.5 * random.uniform() + 0.01;
}

void add_repetition(SlowTask& task, base::Random& random, std::int64_t /*vocabulary*/) {
  task.options.repetition_penalty = 0.3 + 2 * random.uniform();
}

void add_ngrams(SlowTask& task, base::Random& random, std::int64_t /*vocabulary*/) {
  task.options.no_repeat_ngram = 1 + random.below(3);
}

// Rows that depend on the last token alone run into loops.
void add_repeats(SlowTask& task, base::Random& random, std::int64_t /*vocabulary*/) {
  task.options.max_repeats = 1 + random.below(3);
  task.own.repeats = random.below(4);
  task.options.max_length_extra = 2 + random.below(20);
  task.max_length = task.source_length + task.options.max_length_extra;
  if (random.below(2) == 0) return;
  task.table = [whole = task.table](std::int64_t sentence, const Tokens& prefix) {
    return whole(sentence, prefix.empty() ? Tokens{} : Tokens{prefix.back()});
  };
}

void add_lengths(SlowTask& task, base::Random& random, std::int64_t /*vocabulary*/) {
  task.options.min_length = random.below(4);
  task.options.min_length_factor = 1.2 * random.uniform();
}

void add_banned(SlowTask& task, base::Random& random, std::int64_t vocabulary) {
  for (std::int64_t n = 1 + random.below(3); n > 0; --n) {
    task.options.banned.push_back(random_tokens(random, vocabulary, 1, 3));
  }
}

// Tokens add one or two letters of three, so that a text can come about in many ways.
void add_banned_texts(SlowTask& task, base::Random& random, std::int64_t vocabulary) {
  const auto letters = [&](std::int64_t count) {
    std::string text;
    for (; count > 0; --count) text += static_cast<char>('a' + random.below(3));
    return text;
  };
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < vocabulary; ++i) texts.push_back(i < 2 ? "" : letters(1 + random.below(2)));
  task.options.token_texts = std::make_shared<const std::vector<std::string>>(texts);
  for (std::int64_t n = 1 + random.below(2); n > 0; --n)
    task.options.banned_texts.push_back(letters(1 + random.below(4)));
}

void add_prefix(SlowTask& task, base::Random& random, std::int64_t vocabulary) {
  task.own.prefix = random_tokens(random, vocabulary, 1, 5);
}

void add_phrases(SlowTask& task, base::Random& random, std::int64_t vocabulary) {
  for (std::int64_t n = 1 + random.below(2); n > 0; --n) {
    Phrase& phrase = task.own.phrases.emplace_back();
    for (std::int64_t ways = 1 + random.below(2); ways > 0; --ways) {
      phrase.push_back(random_tokens(random, vocabulary, 1, 3));
    }
  }
}

void add_stop(SlowTask& task, base::Random& random, std::int64_t /*vocabulary*/) {
  task.options.stop = static_cast<Stop>(random.below(3));
  task.options.patience = 0.5 + random.uniform();
}

void add_sampling(SlowTask& task, base::Random& random, std::int64_t /*vocabulary*/) {
  task.options.sampling = {.on = true,
                           .temperature = 0.3 + random.uniform(),
                           .top_k = random.below(4),
                           .top_p = random.below(2) == 0 ? 1 : 0.3 + 0.7 * random.uniform(),
                           .seed = random.bits()};
  task.options.n_best = 1 + random.below(4);
  task.own.seed = random.bits();
}

TEST(SearchOptions, CoveragePenaltyFollowsTheRule) { compare(300, add_coverage); }
TEST(SearchOptions, RepetitionPenaltyFollowsTheRule) { compare(300, add_repetition); }
TEST(SearchOptions, NoRepeatedNgramsFollowsTheRule) { compare(300, add_ngrams); }
TEST(SearchOptions, RepeatsFollowTheRule) { compare(400, add_repeats); }
TEST(SearchOptions, MinimumLengthsFollowTheRule) { compare(300, add_lengths); }
TEST(SearchOptions, BannedSequencesFollowTheRule) { compare(300, add_banned); }
TEST(SearchOptions, BannedTextsFollowTheRule) { compare(300, add_banned_texts); }
TEST(SearchOptions, PrefixesFollowTheRule) { compare(300, add_prefix); }
TEST(SearchOptions, PhrasesFollowTheRule) { compare(400, add_phrases); }
TEST(SearchOptions, StoppingFollowsTheRule) { compare(400, add_stop); }
TEST(SearchOptions, SamplingFollowsTheRule) { compare(400, add_sampling); }

TEST(SearchOptions, PhrasesInSamplesFollowTheRule) {
  std::int64_t with = 0;
  compare(800, [&](SlowTask& task, base::Random& random, std::int64_t vocabulary) {
    add_sampling(task, random, vocabulary);
    add_phrases(task, random, vocabulary);
    if (random.below(3) == 0) add_banned(task, random, vocabulary);
    if (random.below(3) == 0) add_ngrams(task, random, vocabulary);
    if (random.below(3) == 0) add_repeats(task, random, vocabulary);
    with += std::ssize(task.own.phrases);
  });
  EXPECT_GT(with, 800);
}

// Where there is room and nothing is forbidden, every sample has every phrase.
TEST(SearchOptions, SamplesHaveTheirPhrases) {
  int checked = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    base::Random random(base::combine(77, i));
    const std::int64_t vocabulary = 4 + random.below(5);
    SlowTask task{.table = {}, .options = toy_options()};
    task.table = [=](std::int64_t, const Tokens& prefix) {
      return random_row(vocabulary, static_cast<std::uint64_t>(i), prefix);
    };
    add_sampling(task, random, vocabulary);
    add_phrases(task, random, vocabulary);
    task.options.max_length_extra = 7;  // two phrases of three tokens, and the end
    for (const Hypothesis& found : search(task, vocabulary)) {
      for (const Phrase& phrase : task.own.phrases) {
        EXPECT_TRUE(occurs(found.tokens, phrase)) << i;
        ++checked;
      }
    }
  }
  EXPECT_GE(checked, 400);
}

TEST(SearchOptions, AllTogetherFollowTheRule) {
  compare(1200, [](SlowTask& task, base::Random& random, std::int64_t vocabulary) {
    const bool sampling = random.below(4) == 0;
    if (sampling) add_sampling(task, random, vocabulary);
    if (random.below(3) == 0) add_phrases(task, random, vocabulary);
    for (const auto add : {add_coverage, add_repetition, add_ngrams, add_repeats, add_lengths, add_banned,
                           add_banned_texts, add_prefix, add_stop}) {
      if (random.below(3) == 0) add(task, random, vocabulary);
    }
  });
}

TEST(SearchOptions, LargeVocabulariesFollowTheRule) {
  for (std::int64_t i = 0; i < 10; ++i) {
    base::Random random(base::combine(5, i));
    const std::int64_t vocabulary = 150 + random.below(60);
    SlowTask task = plain_task(random);
    task.table = [=](std::int64_t, const Tokens& prefix) {
      return random_row(vocabulary, static_cast<std::uint64_t>(i), prefix);
    };
    add_repetition(task, random, vocabulary);
    add_ngrams(task, random, vocabulary);
    if (i % 2 == 0) add_phrases(task, random, vocabulary);
    SCOPED_TRACE(i);
    expect_same(search(task, vocabulary), slow_search(task));
  }
}

// Sentences of one call with options of their own, beside each other and one after another.
TEST(SearchOptions, WhatIsAskedOfOneSentenceDoesNotTouchAnother) {
  const std::int64_t vocabulary = 7;
  const Table table = [&](std::int64_t sentence, const Tokens& prefix) {
    return random_row(vocabulary, static_cast<std::uint64_t>(sentence), prefix);
  };
  SearchOptions options = toy_options();
  options.max_length_extra = 4;
  options.n_best = 2;
  const auto rules = std::make_shared<const SearchRules>(options, vocabulary);
  SearchOptions drawn = options;
  drawn.sampling = {.on = true, .temperature = 1, .top_k = 0, .top_p = 1, .seed = 4};
  const auto drawing = std::make_shared<const SearchRules>(drawn, vocabulary);
  const auto joins = [&](BeamSearch& search, std::int64_t sentence) {
    SentenceOptions own;
    if (sentence % 3 == 1) own.prefix = {2, 3};
    if (sentence % 4 == 2) own.phrases = {{{5, 6}}};
    search.join(sentence, 1 + sentence % 5, sentence % 4 == 3 ? drawing : rules, own);
  };
  std::vector<std::vector<Hypothesis>> alone(12);
  for (std::int64_t sentence = 0; sentence < 12; ++sentence) {
    TableScorer scorer(vocabulary, table);
    BeamSearch search(scorer);
    joins(search, sentence);
    while (search.sentences() > 0) {
      for (auto& answer : search.step()) alone[static_cast<std::size_t>(sentence)] = answer.hypotheses;
    }
  }
  // At most three at a time: whenever one is done, the next joins.
  TableScorer scorer(vocabulary, table);
  BeamSearch search(scorer);
  std::int64_t next = 0;
  std::int64_t most = 0;
  std::vector<std::int64_t> done;
  do {
    while (search.sentences() < 3 && next < 12) joins(search, next++);
    most = std::max(most, search.sentences());
    for (const auto& answer : search.step()) {
      done.push_back(answer.sentence);
      EXPECT_EQ(answer.hypotheses, alone[static_cast<std::size_t>(answer.sentence)]) << answer.sentence;
    }
  } while (search.sentences() > 0 || next < 12);
  EXPECT_EQ(most, 3);
  EXPECT_EQ(scorer.forgotten, done);
  std::sort(done.begin(), done.end());
  EXPECT_EQ(done, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

// After every prefix the same: token 2 has probability 0.6, token 3 has 0.3, eos 0.1.
std::vector<float> constant_row(std::int64_t /*sentence*/, const Tokens& /*prefix*/) {
  return {kMinusInfinity, std::log(0.1F), std::log(0.6F), std::log(0.3F)};
}

TEST(SearchOptions, SamplesAreDistributedAsTheModelSays) {
  SearchOptions options = toy_options();
  options.max_length = 1;
  options.sampling = {.on = true, .temperature = 1, .top_k = 0, .top_p = 1, .seed = 3};
  options.n_best = 20000;
  const auto shares = [&] {
    TableScorer scorer(4, constant_row);
    std::array<double, 4> counts{};
    const auto answers = beam_search(scorer, std::vector<std::int64_t>{1}, options);
    for (const Hypothesis& found : answers.at(0)) {
      counts[static_cast<std::size_t>(found.finished ? kEos : found.tokens.at(0))] += 1.0 / 20000;
    }
    return counts;
  };
  std::array<double, 4> found = shares();
  EXPECT_NEAR(found[1], 0.1, 0.01);
  EXPECT_NEAR(found[2], 0.6, 0.015);
  EXPECT_NEAR(found[3], 0.3, 0.015);
  options.sampling.temperature = 0.5;  // squares: 0.01, 0.36, 0.09 of 0.46
  found = shares();
  EXPECT_NEAR(found[1], 0.01 / 0.46, 0.01);
  EXPECT_NEAR(found[2], 0.36 / 0.46, 0.015);
  options.sampling.temperature = 1;
  options.sampling.top_k = 2;
  found = shares();
  EXPECT_EQ(found[1], 0);
  EXPECT_NEAR(found[2], 2.0 / 3, 0.015);
  options.sampling.top_k = 0;
  options.sampling.top_p = 0.6;  // token 2 alone
  EXPECT_NEAR(shares()[2], 1, 1e-9);
}

// A sample ends before it has a 3 with probability 0.1 / (0.1 + 0.3) = 1/4, and has a 3 written there. After the first
// 3, however it came, as many follow as in any sample: n with probability 1/4 * (3/4)^n, 0.3 / 0.1 = 3 on average.
TEST(SearchOptions, PhrasesAreWrittenWhereSamplesWouldEnd) {
  SearchOptions options = toy_options();
  options.max_length = 400;
  options.max_length_extra = 400;
  options.sampling = {.on = true, .temperature = 1, .top_k = 0, .top_p = 1, .seed = 8};
  options.n_best = 20000;
  TableScorer scorer(4, constant_row);
  const SentenceOptions own{.phrases = {{{3}}}};
  const std::vector<std::int64_t> lengths = {1};
  double all = 0;
  double single = 0;
  const std::vector<std::vector<Hypothesis>> answers = beam_search(scorer, lengths, options, {&own, 1});
  for (const Hypothesis& found : answers.at(0)) {
    const auto count = std::count(found.tokens.begin(), found.tokens.end(), 3);
    ASSERT_GE(count, 1);
    all += static_cast<double>(count) / 20000;
    single += count == 1 ? 1.0 / 20000 : 0;
  }
  EXPECT_NEAR(all, 4, 0.1);
  EXPECT_NEAR(single, 0.25, 0.015);
}

TEST(SearchOptions, HandCalculationOfCoverage) {
  // One source token of two gets all attention at both steps: 0.5 * (log 1 + log 1e-10).
  class Staring : public TableScorer {
   public:
    Staring() : TableScorer(4, constant_row) {}
    std::span<const float> attention(std::int64_t) const override { return looked; }
    std::vector<float> looked = {1, 0};
  };
  SearchOptions options = toy_options();
  options.beam_size = 1;
  options.max_length = 2;
  options.length_penalty = LengthPenalty::none;
  options.coverage_penalty = 0.5;
  Staring scorer;
  const std::vector<std::int64_t> lengths = {2};
  EXPECT_NEAR(beam_search(scorer, lengths, options).at(0).at(0).score, 2 * std::log(0.6) + 0.5 * std::log(1e-10), 1e-5);
  scorer.looked = {0.25F, 0.75F};  // 0.5 and 1.5, which counts as 1
  EXPECT_NEAR(beam_search(scorer, lengths, options).at(0).at(0).score, 2 * std::log(0.6) + 0.5 * std::log(0.5), 1e-5);
}

TEST(SearchOptions, AScorerWithoutAttentionRefusesCoverage) {
  class Blind : public Scorer {
   public:
    std::int64_t vocabulary() const override { return 4; }
    void step(std::span<const HypothesisStep>) override { values = constant_row(0, {}); }
    kernels::ConstMatrix<float> log_probabilities(std::int64_t begin, std::int64_t end) override {
      return kernels::ConstMatrix<float>::dense(values.data(), end - begin, 4);
    }
    std::vector<float> values;
  };
  Blind scorer;
  SearchOptions options = toy_options();
  options.coverage_penalty = 1;
  try {
    beam_search(scorer, std::vector<std::int64_t>{2}, options);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::unsupported);
  }
}

TEST(SearchOptions, WhatCannotBeIsRefused) {
  const auto message = [](const std::function<void(SlowTask&)>& change) {
    SlowTask task{.table = constant_row, .options = toy_options()};
    change(task);
    try {
      search(task, 4);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::invalid_argument);
      return error.message();
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message([](auto& t) { t.options.coverage_penalty = -1; }), HasSubstr("coverage_penalty is -1"));
  EXPECT_THAT(message([](auto& t) { t.options.repetition_penalty = 0; }), HasSubstr("repetition_penalty is 0"));
  EXPECT_THAT(message([](auto& t) { t.options.no_repeat_ngram = -2; }), HasSubstr("no_repeat_ngram is -2"));
  EXPECT_THAT(message([](auto& t) { t.options.max_repeats = -1; }), HasSubstr("max_repeats is -1"));
  EXPECT_THAT(message([](auto& t) { t.options.min_length_factor = -2; }), HasSubstr("min_length_factor is -2"));
  EXPECT_THAT(message([](auto& t) { t.options.patience = 0; }), HasSubstr("patience is 0"));
  EXPECT_THAT(message([](auto& t) { t.options.banned = {{}}; }), HasSubstr("an empty sequence is banned"));
  EXPECT_THAT(message([](auto& t) { t.options.banned = {{2, kEos}}; }), HasSubstr("token 1 in a banned sequence"));
  EXPECT_THAT(message([](auto& t) { t.options.banned_texts = {"a"}; }), HasSubstr("token_texts must have 4 entries"));
  EXPECT_THAT(message([](auto& t) { t.options.sampling.temperature = 0; }), HasSubstr("temperature is 0"));
  EXPECT_THAT(message([](auto& t) { t.options.sampling.top_k = -1; }), HasSubstr("top_k is -1"));
  EXPECT_THAT(message([](auto& t) { t.options.sampling.top_p = 1.5; }), HasSubstr("top_p is 1.5"));
  EXPECT_THAT(message([](auto& t) { t.own.prefix = {4}; }), HasSubstr("token 4 in the prefix"));
  EXPECT_THAT(message([](auto& t) { t.own.phrases = {{}}; }), HasSubstr("no way to occur"));
  EXPECT_THAT(message([](auto& t) { t.own.phrases = {{{}}}; }), HasSubstr("is empty"));
  EXPECT_THAT(message([](auto& t) { t.own.phrases = {{{kEos}}}; }), HasSubstr("token 1 in a phrase"));
}

}  // namespace
}  // namespace zhuyi::infer
