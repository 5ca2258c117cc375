// Several processes train as one does, whatever their number, and a batch in pieces gives the gradient of the whole.

#include "train/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "temporary_folder.h"
#include "train/checkpoint.h"
#include "train/memory.h"
#include "train/runs.h"
#include "train/step_gradient.h"

namespace zhuyi::train {
namespace {

using ::testing::HasSubstr;

class Processes : public ::testing::Test {
 protected:
  Processes() : tokenizer_(letter_tokenizer()) {
    base::set_threads(1);
    pairs_ = letter_pairs(120, 2, 8, true, 3);
    valid_ = letter_pairs(20, 2, 8, true, 4);
    options_.batches = {.tokens = 60, .pool = 4, .seed = 5};
    options_.accumulate = 4;
    // Where nearly nothing is divided by nearly nothing, rounding would decide the direction of Adam's first steps.
    options_.optimizer.adam.epsilon = 1e-4;
    options_.schedule = {.kind = optim::ScheduleKind::inverse_square_root, .peak = 3e-3, .warmup = 20};
    options_.budget.steps = 50;
    options_.validate_steps = 20;
    options_.keep = 2;
    options_.report_steps = 1;
  }

  formats::Model model(double dropout) { return new_model(small_config(16, 1, dropout), tokenizer_); }

  // The run in folder/name by so many processes: what process 0 heard.
  Listener run(const std::string& name, std::int64_t processes, double dropout = 0.1, std::int64_t stop_after = -1) {
    std::filesystem::create_directories(folder_ / name);
    options_.directory = folder_ / name;
    Listener heard(stop_after);
    std::vector<std::vector<float>> weights(static_cast<std::size_t>(processes));
    in_processes(processes, [&](Communicator& communicator) {
      formats::Model own = model(dropout);
      const EncodedCorpus corpus(pairs_, tokenizer_, tokenizer_, 0);
      const Validator validator(valid_, tokenizer_, tokenizer_, 4);
      Listener silent;
      const bool first = communicator.rank() == 0;
      train(own, corpus, validator, options_, first ? heard : silent, communicator);
      EXPECT_EQ(silent.reports.size(), 0u);
      const auto numbers = own.transformer->parameters().flat().data<float>();
      weights[static_cast<std::size_t>(communicator.rank())].assign(numbers.begin(), numbers.end());
    });
    for (const auto& other : weights) EXPECT_EQ(other, weights[0]);  // to the bit
    return heard;
  }

  static void expect_same_losses(const Listener& a, const Listener& b, double tolerance = 1e-5) {
    ASSERT_EQ(a.reports.size(), b.reports.size());
    for (std::size_t i = 0; i < a.reports.size(); ++i) {
      EXPECT_NEAR(a.reports[i].loss, b.reports[i].loss, tolerance * a.reports[i].loss) << "step " << i + 1;
      EXPECT_EQ(a.reports[i].target_tokens, b.reports[i].target_tokens);
      EXPECT_EQ(a.reports[i].epoch, b.reports[i].epoch);
    }
  }

  TemporaryFolder folder_;
  text::Tokenizer tokenizer_;
  std::vector<data::SentencePair> pairs_;
  std::vector<data::SentencePair> valid_;
  TrainOptions options_;
};

TEST_F(Processes, GiveTheLossesOfOneThatTakesTheSameBatches) {
  const Listener one = run("one", 1);
  ASSERT_EQ(one.reports.size(), 50u);
  EXPECT_LT(one.reports.back().loss, one.reports.front().loss);
  for (const std::int64_t processes : {2, 4}) {
    const std::string name = fmt::format("{}", processes);
    expect_same_losses(one, run(name, processes));
    EXPECT_EQ(metrics_of(folder_ / name / "metrics.jsonl").size(), metrics_of(folder_ / "one/metrics.jsonl").size());
  }
}

// One batch a step, three processes: each takes its share of the sentences. Without dropout that changes rounding only.
TEST_F(Processes, ShareTheSentencesOfABatch) {
  options_.accumulate = 1;
  options_.budget.steps = 12;
  const Listener one = run("one", 1, 0);
  expect_same_losses(one, run("three", 3, 0));
  options_.accumulate = 2;
  expect_same_losses(run("one-of-two", 1, 0), run("three-of-two", 3, 0));
}

TEST_F(Processes, ContinueTheRunOfAnotherNumber) {
  const Listener one = run("one", 1);
  run("parts", 4, 0.1, 17);
  const Listener second = run("parts", 1, 0.1, 9);
  EXPECT_EQ(second.start.step, 17);
  const Listener third = run("parts", 2);
  EXPECT_EQ(third.start.step, 26);
  ASSERT_EQ(third.reports.size(), 24u);
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_NEAR(third.reports[i].loss, one.reports[26 + i].loss, 1e-5 * one.reports[26 + i].loss);
  }
}

TEST_F(Processes, ExchangeGradientsOfSixteenBits) {
  const Listener one = run("one", 1);
  options_.gradient_bits = 16;
  const Listener rounded = run("rounded", 4);
  ASSERT_EQ(rounded.reports.size(), 50u);
  // Eight bits of mantissa: other losses, but not by much.
  EXPECT_NE(rounded.reports[5].loss, one.reports[5].loss);
  expect_same_losses(one, rounded, 0.01);
}

TEST_F(Processes, RefuseToTrainOnDifferentTexts) {
  options_.directory = folder_.path();
  std::vector<std::string> messages(2);
  in_processes(2, [&](Communicator& communicator) {
    std::vector<data::SentencePair> pairs = pairs_;
    if (communicator.rank() == 1) pairs.pop_back();
    formats::Model own = model(0);
    Listener listener;
    try {
      if (communicator.rank() == 0) {  // what it tells the others; it would wait for them from there on
        const EncodedCorpus corpus(pairs, tokenizer_, tokenizer_, 0);
        broadcast(communicator, description(WholeCorpus(corpus), Validator(valid_, tokenizer_, tokenizer_, 0)));
        broadcast(communicator, fixed_options(options_));
      } else {
        train(own, EncodedCorpus(pairs, tokenizer_, tokenizer_, 0), Validator(valid_, tokenizer_, tokenizer_, 0),
              options_, listener, communicator);
      }
    } catch (const base::Error& error) {
      messages[static_cast<std::size_t>(communicator.rank())] = error.message();
    }
  });
  EXPECT_THAT(messages[1], HasSubstr("process 1 of 2 has other texts than process 0 (training pairs 120, now 119"));
}

TEST(BFloat16, RoundsToNearestTiesToEven) {
  // 1 + 2^-8 lies between 1 and 1 + 2^-7, and goes to the even one; 1 + 3 2^-8 goes up.
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F)), 1.0F);
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.00390625F)), 1.0F);
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.01171875F)), 1.015625F);
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.00390637F)), 1.0078125F);
  EXPECT_EQ(to_bfloat16(-2.0F), 0xc000);
  EXPECT_EQ(to_bfloat16(0.0F), 0);
  EXPECT_TRUE(std::isinf(from_bfloat16(to_bfloat16(std::numeric_limits<float>::max()))));
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

// --- memory

TEST_F(Processes, ABatchInPiecesGivesTheGradientOfTheWhole) {
  const formats::Model own = model(0);
  const EncodedCorpus corpus(pairs_, tokenizer_, tokenizer_, 0);
  const nn::Config& config = own.transformer->config();
  OneProcess alone;
  std::vector<std::vector<std::int64_t>> batches(2);
  for (std::int64_t i = 0; i < 40; ++i) batches[static_cast<std::size_t>(i % 2)].push_back(i);
  std::vector<std::vector<float>> flat;
  std::vector<StepLoss> losses;
  for (const std::int64_t share : {0, 3, 7}) {
    const std::vector<data::PairLength> lengths(corpus.lengths().begin(), corpus.lengths().begin() + 20);
    const std::int64_t limit = share == 0 ? 0 : pass_bytes(config, lengths) / share;
    EXPECT_EQ(split_to_fit(batches[0], corpus.lengths(), config, limit).size() > 1, share > 0);
    autograd::Gradients gradients(own.transformer->parameters());
    gradients.clear();
    losses.push_back(
        add_gradients({.model = *own.transformer, .corpus = corpus, .processes = alone, .seed = 1, .pass_bytes = limit},
                      0, batches, gradients));
    const auto numbers = gradients.flat().data<float>();
    flat.emplace_back(numbers.begin(), numbers.end());
  }
  double largest = 0;
  for (const float number : flat[0]) largest = std::max(largest, std::fabs(static_cast<double>(number)));
  for (std::size_t other = 1; other < flat.size(); ++other) {
    EXPECT_NEAR(losses[other].loss, losses[0].loss, 1e-6 * losses[0].loss);
    EXPECT_EQ(losses[other].target_tokens, losses[0].target_tokens);
    for (std::size_t i = 0; i < flat[0].size(); ++i) ASSERT_NEAR(flat[other][i], flat[0][i], 1e-5 * largest) << i;
  }
}

TEST(Memory, PiecesAreInOrderCompleteAndFit) {
  nn::Config config = small_config(32, 2);
  config.source_vocabulary = config.target_vocabulary = 100;
  std::vector<data::PairLength> lengths;
  base::Random random(3);
  for (int i = 0; i < 50; ++i) lengths.push_back({1 + random.below(40), 1 + random.below(40)});
  lengths.push_back({500, 500});
  std::vector<std::int64_t> pairs;
  for (std::int64_t i = 0; i < 51; ++i) pairs.push_back(50 - i);
  for (const std::int64_t limit : {1'000'000, 3'000'000, 10'000'000, 1'000'000'000}) {
    std::vector<std::int64_t> joined;
    std::size_t pieces = 0;
    for (const std::vector<std::int64_t>& piece : split_to_fit(pairs, lengths, config, limit)) {
      std::vector<data::PairLength> own;
      for (const std::int64_t pair : piece) own.push_back(lengths[static_cast<std::size_t>(pair)]);
      EXPECT_TRUE(piece.size() == 1 || pass_bytes(config, own) <= limit);
      joined.insert(joined.end(), piece.begin(), piece.end());
      ++pieces;
    }
    EXPECT_EQ(joined, pairs);
    EXPECT_EQ(pieces == 1, limit == 1'000'000'000);
  }
}

TEST_F(Processes, AModelThatDoesNotFitIntoMemoryIsRefused) {
  options_.memory = {1 << 20};
  options_.directory = folder_.path();
  formats::Model own = model(0);
  Listener listener;
  EXPECT_THROW(train(own, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0),
                     Validator(valid_, tokenizer_, tokenizer_, 0), options_, listener),
               base::Error);
}

}  // namespace
}  // namespace zhuyi::train
