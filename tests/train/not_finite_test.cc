// Losses, gradients and weights that are no numbers: left out, named, and never written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "optim/adam.h"
#include "train/checkpoint.h"
#include "train/checkpointed_run.h"

namespace zhuyi::train {
namespace {

using base::ErrorKind;

class NotFinite : public CheckpointedRun {};

TEST_F(NotFinite, TooManyLossesInARowThatAreNoNumbersEndTheRunAndKeepTheLastOne) {
  run(3);
  const std::string before = base::read_file(checkpoint());
  formats::Model model = new_model(config_, tokenizer_);
  optim::Adam adam(model.transformer->parameters(), {});
  const Progress progress = load_checkpoint(checkpoint(), model, adam);
  model.transformer->parameters().flat().fill(1e30);  // the first product is infinite
  save_checkpoint(checkpoint(), model, adam, progress);
  const std::string exploded = base::read_file(checkpoint());
  EXPECT_TRUE(exploded != before);
  options_.validate_steps = 100;
  options_.budget.steps = 100;
  options_.max_skipped = 4;
  expect_error(ErrorKind::bad_model,
               {"step 7", "4th in a row", "last checkpoint, of step 3, is intact", "--learning-rate"}, [&] { run(); });
  EXPECT_TRUE(base::read_file(checkpoint()) == exploded);
}

// One embedding, of a letter that stands in few sources, is so large that what is made of it overflows.
TEST_F(NotFinite, AStepWithoutAFiniteLossIsLeftOutAndItsLinesNamed) {
  config_.tying = nn::Tying::none;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    std::replace(pairs_[i].source.begin(), pairs_[i].source.end(), 'j', 'a');
    std::replace(pairs_[i].target.begin(), pairs_[i].target.end(), 'j', 'a');
    pairs_[i].line = static_cast<std::int64_t>(2 * i + 1);
  }
  const std::vector<data::SentencePair> valid = pairs_;
  pairs_[6].source = "j";
  pairs_[23].source = "b j";
  options_.budget.steps = 20;
  options_.validate_steps = 7;
  formats::Model model = new_model(config_, tokenizer_);
  const std::int32_t letter = tokenizer_.id("\xe2\x96\x81j");
  ASSERT_GE(letter, 0);
  for (const autograd::ParameterPtr& parameter : model.transformer->parameters().list()) {
    if (parameter->name == "source_embedding") parameter->value.slice(letter, letter + 1).fill(3e38);
  }
  const EncodedCorpus corpus(pairs_, tokenizer_, tokenizer_, 0);
  Listener listener;
  train(model, corpus, Validator(valid, tokenizer_, tokenizer_, 0), options_, listener);
  // Which steps those are, from the plan.
  std::vector<std::vector<std::int64_t>> expected;
  for (std::int64_t epoch = 0, step = 0; step < 20; ++epoch) {
    for (const std::vector<std::int64_t>& batch : data::plan_epoch(corpus.lengths(), options_.batches, epoch)) {
      if (step++ == 20) break;
      std::vector<std::int64_t> lines;
      bool bad = false;
      for (const std::int64_t pair : batch) {
        lines.push_back(2 * pair + 1);
        bad = bad || pair == 6 || pair == 23;
      }
      std::sort(lines.begin(), lines.end());
      if (bad) expected.push_back(lines);
    }
  }
  ASSERT_GE(expected.size(), 2u);
  EXPECT_EQ(listener.skipped_lines, expected);
  std::size_t named = 0;
  for (const nlohmann::json& line : metrics_of(file("metrics.jsonl"))) {
    if (!line.contains("skipped")) continue;
    EXPECT_EQ(line["lines"], nlohmann::json(expected.at(named)));
    EXPECT_EQ(line["skipped"], ++named);
  }
  EXPECT_EQ(named, expected.size());
  EXPECT_LT(listener.validations.back().nll, listener.validations.front().nll);
  EXPECT_EQ(read_checkpoint(checkpoint()).progress.skipped, static_cast<std::int64_t>(expected.size()));
}

TEST_F(NotFinite, AnAbsurdLearningRateNeverLeavesWhatCannotBeRead) {
  for (const std::int64_t validate_steps : {1, 2, 100}) {
    for (const double rate : {1e30, 1e38, 1e300}) {
      SCOPED_TRACE(fmt::format("rate {}, validation every {} steps", rate, validate_steps));
      options_.directory = folder_ / fmt::format("run{}-{}", rate, validate_steps);
      std::filesystem::create_directories(options_.directory);
      run(0);
      options_.validate_steps = validate_steps;
      const double peak = options_.schedule.peak;
      std::filesystem::remove(checkpoint());
      options_.schedule.peak = rate;
      options_.schedule.warmup = 1;
      expect_error(ErrorKind::bad_model, {"training: ", "--learning-rate"}, [&] { run(); });
      options_.schedule.peak = peak;
      EXPECT_NO_THROW(formats::load_model(file("model.safetensors")));
      if (std::filesystem::exists(checkpoint())) {
        optim::Adam adam(new_model(config_, tokenizer_).transformer->parameters(), {});
        formats::Model model = new_model(config_, tokenizer_);
        EXPECT_NO_THROW(load_checkpoint(checkpoint(), model, adam));
      }
    }
  }
}

}  // namespace
}  // namespace zhuyi::train
