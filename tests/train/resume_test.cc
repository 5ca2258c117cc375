// Two runs are one: the same seed gives the same bits, and so does a run that was stopped and continued.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "formats/safetensors.h"
#include "temporary_folder.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

using nlohmann::json;

// 60 pairs in about 14 batches an epoch, two batches a step: 23 steps end in the fourth epoch.
class Resume : public ::testing::Test {
 protected:
  Resume() : tokenizer_(letter_tokenizer()) {
    base::set_threads(1);  // the models are too small for more
    pairs_ = letter_pairs(60, 2, 8, true, 3);
    valid_ = letter_pairs(20, 2, 8, true, 4);
    options_.batches = {.tokens = 30, .pool = 4, .seed = 5};
    options_.accumulate = 2;
    options_.schedule = {.kind = optim::ScheduleKind::inverse_square_root, .peak = 3e-3, .warmup = 5};
    options_.budget.steps = 23;
    options_.validate_steps = 5;
    options_.keep = 2;
    options_.report_steps = 3;
  }

  // One call of train() on a fresh model in folder/name; stopped before step `stop_after` + 1 of this call.
  TrainResult call(const std::string& name, std::int64_t stop_after, Listener* listener = nullptr) {
    std::filesystem::create_directories(folder_ / name);
    options_.directory = folder_ / name;
    formats::Model model = new_model(small_config(16, 1, 0.1), tokenizer_);
    Listener own(stop_after);
    return train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0), Validator(valid_, tokenizer_, tokenizer_, 8),
                 options_, listener != nullptr ? *listener : own);
  }

  std::string file(const std::string& name, const std::string& what) { return (folder_ / name) / what; }

  // Both directories hold the same run, to the bit, but for the clock.
  void expect_same(const std::string& a, const std::string& b) {
    const formats::SafeTensorsFile x(file(a, "checkpoint.safetensors"));
    const formats::SafeTensorsFile y(file(b, "checkpoint.safetensors"));
    ASSERT_EQ(x.tensors().size(), y.tensors().size());
    for (const auto& [name, tensor] : x.tensors()) {
      ASSERT_TRUE(y.contains(name)) << name;
      const std::span<std::byte> other = y.tensors().at(name).bytes;
      ASSERT_EQ(tensor.bytes.size(), other.size()) << name;
      EXPECT_EQ(std::memcmp(tensor.bytes.data(), other.data(), other.size()), 0) << name << " differs";
    }
    EXPECT_EQ(progress_without_clock(x), progress_without_clock(y));
    EXPECT_TRUE(base::read_file(file(a, "model.safetensors")) == base::read_file(file(b, "model.safetensors")));
    EXPECT_EQ(metrics_of(file(a, "metrics.jsonl")), metrics_of(file(b, "metrics.jsonl")));
  }

  TemporaryFolder folder_;
  text::Tokenizer tokenizer_;
  std::vector<data::SentencePair> pairs_;
  std::vector<data::SentencePair> valid_;
  TrainOptions options_;

 private:
  static json progress_without_clock(const formats::SafeTensorsFile& checkpoint) {
    json progress = json::parse(checkpoint.metadata().at("progress"));
    for (const char* clock : {"seconds", "validated_seconds", "metrics_bytes"}) progress.erase(clock);
    progress["window"].erase(3);
    return progress;
  }
};

TEST_F(Resume, TheSameSeedGivesTheSameBits) {
  EXPECT_EQ(call("a", -1).steps, 23);
  EXPECT_EQ(call("b", -1).steps, 23);
  expect_same("a", "b");
  base::set_threads(2);
  call("c", 9);
  call("c", -1);
  call("d", -1);
  expect_same("c", "d");
}

TEST_F(Resume, AnotherSeedGivesOtherWeights) {
  call("a", 4);
  options_.seed = 2;  // of dropout alone: weights and order are those of before
  call("b", 4);
  const formats::SafeTensorsFile x(file("a", "checkpoint.safetensors"));
  const formats::SafeTensorsFile y(file("b", "checkpoint.safetensors"));
  const std::span<const std::byte> left = x.tensors().at("adam.moment1").bytes;
  const std::span<const std::byte> right = y.tensors().at("adam.moment1").bytes;
  ASSERT_EQ(left.size(), right.size());
  EXPECT_NE(std::memcmp(left.data(), right.data(), left.size()), 0);
}

// Before anything, inside the first epoch, at a report, at a validation, beside an epoch's end, before the last step.
TEST_F(Resume, OneStopAnywhereChangesNothing) {
  call("whole", -1);
  for (const std::int64_t stop : {0, 1, 3, 5, 7, 8, 14, 22}) {
    SCOPED_TRACE(stop);
    const std::string name = fmt::format("stop{}", stop);
    const TrainResult first = call(name, stop);
    EXPECT_TRUE(first.interrupted);
    EXPECT_EQ(first.steps, stop);
    EXPECT_NO_THROW(formats::load_model(file(name, "model.safetensors")));  // usable at once
    Listener second;
    EXPECT_FALSE(call(name, -1, &second).interrupted);
    EXPECT_EQ(second.start.step, stop);
    expect_same("whole", name);
  }
}

TEST_F(Resume, MuonGoesOnWhereItStopped) {
  options_.optimizer.kind = optim::OptimizerKind::muon;
  options_.optimizer.adam.decay = 0.1;
  call("whole", -1);
  call("parts", 7);
  call("parts", -1);
  expect_same("whole", "parts");
  EXPECT_TRUE(formats::SafeTensorsFile(file("whole", "checkpoint.safetensors")).contains("muon.momentum"));
  options_.optimizer.kind = optim::OptimizerKind::adam;
  EXPECT_THROW(call("parts", -1), base::Error);
}

TEST_F(Resume, SeveralStopsInARowChangeNothing) {
  call("whole", -1);
  std::int64_t calls = 1;
  while (call("parts", calls % 4).interrupted) ++calls;  // 1, 2, 3, 0, 1, ... steps at a time
  EXPECT_EQ(calls, 15);                                  // 6 steps in 4 calls: 18 in 12, then 1, 2, and the last 2
  expect_same("whole", "parts");
}

TEST_F(Resume, WhatWasLostAfterTheLastCheckpointIsDoneAgain) {
  call("whole", -1);
  call("killed", 11);  // as if killed later: lines of metrics that no checkpoint knows of
  base::append_file(file("killed", "metrics.jsonl"), "{\"step\": 12, \"loss\": 1}\n{\"ste");
  call("killed", -1);
  expect_same("whole", "killed");

  std::filesystem::create_directories(folder_ / "early");  // killed before its first checkpoint
  base::write_file(file("early", "metrics.jsonl"), "{\"step\": 3, \"loss\": 1}\n");
  call("early", -1);
  expect_same("whole", "early");
}

TEST_F(Resume, ARunKilledBeforeTheMeanOfItsSnapshotsStillTriesIt) {
  call("whole", -1);
  options_.budget.steps = 24;
  call("killed", 23);  // all but the last step of a longer run ...
  options_.budget.steps = 23;
  Listener listener;
  call("killed", -1, &listener);  // ... which then ends here
  EXPECT_EQ(listener.averaged_snapshots, 2);
  expect_same("whole", "killed");
}

TEST_F(Resume, AFinishedRunStaysAsItIsAndGoesOnWithALargerBudget) {
  call("a", -1);
  const std::string checkpoint = base::read_file(file("a", "checkpoint.safetensors"));
  const std::string model = base::read_file(file("a", "model.safetensors"));
  Listener again;
  EXPECT_EQ(call("a", -1, &again).steps, 23);
  EXPECT_TRUE(again.reports.empty());
  EXPECT_TRUE(again.validations.empty());
  EXPECT_TRUE(base::read_file(file("a", "checkpoint.safetensors")) == checkpoint);
  EXPECT_TRUE(base::read_file(file("a", "model.safetensors")) == model);

  options_.budget.steps = 30;
  Listener more;
  EXPECT_EQ(call("a", -1, &more).steps, 30);
  EXPECT_EQ(more.start.step, 23);
  EXPECT_EQ(more.validations.size(), 2u);  // at 25 and 30
}

TEST_F(Resume, TheModelDoesNotDependOnWhoAsksForReports) {
  options_.report_steps = 1;
  Listener often;
  call("often", -1, &often);
  EXPECT_EQ(often.reports.size(), 23u);
  options_.report_steps = 1000;
  Listener never;
  call("never", -1, &never);
  EXPECT_TRUE(never.reports.empty());
  EXPECT_TRUE(base::read_file(file("often", "model.safetensors")) ==
              base::read_file(file("never", "model.safetensors")));
}

// Sequences of one length fill the batches exactly: two of 10 pairs or one of 20. Epsilon is large, so that rounding
// does not decide the direction of a step.
TEST_F(Resume, TwoBatchesOfHalfTheSizeMakeTheSameStep) {
  pairs_ = letter_pairs(20, 5, 5, true, 6);
  options_.optimizer.adam.epsilon = 0.01;
  options_.schedule = {.kind = optim::ScheduleKind::constant, .peak = 0.01, .warmup = 1, .cooldown = 0};
  options_.budget.steps = 5;
  options_.report_steps = 1;
  std::vector<std::vector<float>> weights;
  std::vector<Listener> heard(2);
  for (const std::int64_t parts : {2, 1}) {
    options_.accumulate = parts;
    options_.batches.tokens = 120 / parts;
    options_.directory = folder_ / fmt::format("parts{}", parts);
    std::filesystem::create_directories(options_.directory);
    formats::Model model = new_model(small_config(16, 1), tokenizer_);
    const std::vector<float> before(model.transformer->parameters().flat().data<float>().begin(),
                                    model.transformer->parameters().flat().data<float>().end());
    train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0), Validator(valid_, tokenizer_, tokenizer_, 0),
          options_, heard[weights.size()]);
    const std::span<const float> after = model.transformer->parameters().flat().data<float>();
    weights.emplace_back(after.begin(), after.end());
    EXPECT_NE(weights.back(), before);
  }
  for (std::size_t i = 0; i < weights[0].size(); ++i) ASSERT_NEAR(weights[0][i], weights[1][i], 1e-5) << i;
  ASSERT_EQ(heard[0].reports.size(), 5u);
  ASSERT_EQ(heard[1].reports.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(heard[0].reports[i].loss, heard[1].reports[i].loss, 1e-5);
    EXPECT_NEAR(heard[0].reports[i].gradient_norm, heard[1].reports[i].gradient_norm, 1e-4);
    EXPECT_EQ(heard[0].reports[i].target_tokens, static_cast<std::int64_t>(120 * (i + 1)));
    EXPECT_EQ(heard[0].reports[i].epoch, static_cast<std::int64_t>(i + 1));
  }
}

// 60 pairs once each, although the last step finds one batch only where it wants two.
TEST_F(Resume, AnEpochIsEveryPairOnce) {
  const EncodedCorpus corpus(pairs_, tokenizer_, tokenizer_, 0);
  for (const std::int64_t tokens : {30, 40, 50}) {
    SCOPED_TRACE(tokens);
    options_.budget = {.epochs = 1};
    options_.batches.tokens = tokens;
    options_.report_steps = 1;
    const auto batches = static_cast<std::int64_t>(data::plan_epoch(corpus.lengths(), options_.batches, 0).size());
    Listener listener;
    EXPECT_EQ(call(fmt::format("tokens{}", tokens), -1, &listener).steps, (batches + 1) / 2);
    ASSERT_FALSE(listener.reports.empty());
    EXPECT_EQ(listener.reports.back().target_tokens, corpus.target_tokens());
    EXPECT_EQ(listener.reports.back().epoch, 1);
    EXPECT_EQ(listener.reports.back().progress, 1);
  }
}

TEST_F(Resume, TheTimeOfTrainingEndsIt) {
  options_.budget = {.minutes = 1e-9};
  EXPECT_EQ(call("a", -1).steps, 1);
}

}  // namespace
}  // namespace zhuyi::train
