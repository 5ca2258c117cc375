// The list of a run's options: ranges, words, and the fingerprint that says whether a run may be continued.

#include "train/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>
#include <string>

#include "train/checkpoint.h"
#include "train/checkpointed_run.h"

namespace zhuyi::train {
namespace {

using base::ErrorKind;
using ::testing::StartsWith;

TEST(Options, NumbersOutOfRangeAreNamed) {
  const auto expect_named = [](const std::string& name, const std::function<void(TrainOptions&)>& change) {
    TrainOptions options;
    options.budget.steps = 1;
    validate(options);
    change(options);
    expect_error(ErrorKind::invalid_argument, {name}, [&] { validate(options); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_named("no end", [](TrainOptions& o) { o.budget.steps = 0; });
  expect_named("steps", [](TrainOptions& o) { o.budget.steps = -1; });
  expect_named("minutes", [&](TrainOptions& o) { o.budget.minutes = nan; });
  expect_named("batch-tokens", [](TrainOptions& o) { o.batches.tokens = 0; });
  expect_named("accumulate", [](TrainOptions& o) { o.accumulate = 0; });
  expect_named("warmup", [](TrainOptions& o) { o.schedule.warmup = 0; });
  expect_named("learning-rate", [&](TrainOptions& o) { o.schedule.peak = nan; });
  expect_named("cooldown", [](TrainOptions& o) { o.schedule.cooldown = 1.5; });
  expect_named("beta2", [](TrainOptions& o) { o.optimizer.adam.beta2 = 1; });
  expect_named("clip", [](TrainOptions& o) { o.clip = -1; });
  expect_named("report-steps", [](TrainOptions& o) { o.report_steps = 0; });
  expect_named("keep", [](TrainOptions& o) { o.keep = -1; });
  expect_named("keep-every", [](TrainOptions& o) { o.keep_every = -1; });
  expect_named("max-skipped", [](TrainOptions& o) { o.max_skipped = 0; });
  expect_named("memory", [](TrainOptions& o) { o.memory = {-1}; });
  expect_named("gradient-bits", [](TrainOptions& o) { o.gradient_bits = 8; });
}

// Gives a field another value than it has.
struct ChangeIt {
  template <class V>
  void operator()(V& value) const {
    if constexpr (std::is_enum_v<V>) {
      value = static_cast<V>(static_cast<int>(value) == 0 ? 1 : 0);
    } else if constexpr (std::is_same_v<V, bool>) {
      value = !value;
    } else if constexpr (std::is_same_v<V, std::string>) {
      value += "x";
    } else if constexpr (std::is_same_v<V, std::vector<std::string>>) {
      value.emplace_back("x");
    } else if constexpr (std::is_same_v<V, Bytes>) {
      ++value.count;
    } else if constexpr (std::is_same_v<V, std::optional<kernels::Precision>>) {
      value = kernels::Precision::bf16;
    } else {
      value = value + 1;
    }
  }
};

// Every help text is a noun phrase in lower case (names such as Adam's stand further on), without a full stop.
TEST(Options, AreDescribedAlike) {
  TrainOptions options;
  std::int64_t count = 0;
  for_each_field(options, [&](const Field& field, const auto&) {
    const std::string text = field.description;
    EXPECT_TRUE(text.front() >= 'a' && text.front() <= 'z') << field.name;
    EXPECT_NE(text.back(), '.') << field.name;
    ++count;
  });
  EXPECT_GT(count, 30);
}

TEST(Options, OnlyThoseThatDecideOverNoBitsMayChangeOnTheWay) {
  const std::set<std::string> free = {"minutes",       "steps",        "epochs", "validate-minutes", "validate-steps",
                                      "metric",        "patience",     "keep",   "keep-every",       "max-skipped",
                                      "gradient-bits", "report-steps", "profile"};
  const TrainOptions before;
  std::set<std::string> names;
  TrainOptions options;
  for_each_field(options, [&](const Field& field, auto& value) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " stands twice";
    const auto kept = value;
    ChangeIt()(value);
    const std::string differences = option_differences(fixed_options(before), options);
    if (free.contains(field.name)) {
      EXPECT_EQ(differences, "");
    } else {
      EXPECT_THAT(differences, StartsWith(std::string(field.name) + " "));
    }
    value = kept;
  });
  for (const std::string& name : free) EXPECT_TRUE(names.contains(name)) << name;
}

// What version 0.1.0 wrote into the checkpoint of a run with muon and frozen biases.
constexpr const char* kOptionsBefore =
    R"({"accumulate":1,"batch-by":"each-side","batch-tokens":1024,"beta1":0.9,"beta2":0.98,"clip":1.0,"cooldown":0.2,)"
    R"("ema":0.0,"epsilon":1e-09,"freeze":["*.bias"],"from":"","learning-rate":0.002,"muon-momentum":0.95,)"
    R"("optimizer":"muon","pool":1,"schedule":"linear","seed":1,"stream-pairs":0,"subword-sampling":0.0,"warmup":200,)"
    R"("warmup-tokens":0,"weight-decay":0.0})";
constexpr const char* kProgressBefore =
    R"({"averaged_step":-1,"batch":1,"best_bleu":0.0,"best_chrf":0.0,"best_nll":8.875879671864169,"data":"{}","epoch":0,)"
    R"("metrics_bytes":133,"options":"{}","part":0,"seconds":1.362215581,"skipped":0,"skipped_in_row":0,)"
    R"("snapshots":[1],"stalled":0,"step":1,"surplus":[],"target_tokens":378,"validated_seconds":1.362215581,)"
    R"("validated_step":1,"window":[3316.822509765625,3310.697033405304,378,0.799968404]})";

TEST(Options, OfAnOlderCheckpointAreAccepted) {
  TrainOptions options;
  options.batches.tokens = 1024;
  options.freeze = {"*.bias"};
  options.optimizer.kind = optim::OptimizerKind::muon;
  options.schedule = {.kind = optim::ScheduleKind::linear, .peak = 2e-3, .warmup = 200};
  for (const std::optional<kernels::Precision> precision :
       {std::optional<kernels::Precision>(), {kernels::Precision::f32}}) {
    options.precision = precision;
    for (const std::int64_t memory : {0, 1 << 30}) {
      options.memory = {memory};
      EXPECT_EQ(option_differences(kOptionsBefore, options), "");
    }
  }
  EXPECT_EQ(saved_precision(kOptionsBefore), std::nullopt);
  options.seed = 2;
  EXPECT_EQ(option_differences(kOptionsBefore, options), "seed 1, now 2");

  const Progress progress = progress_from_text(kProgressBefore);
  EXPECT_EQ(progress.step, 1);
  EXPECT_EQ(progress.target_tokens, 378);
  EXPECT_EQ(progress.pass_bytes, -1);  // not decided yet
}

TEST(Options, HaveWordsThatAreReadBack) {
  for (const char* word : {"auto", "f32", "bf16"}) {
    EXPECT_EQ(word_of(option_of<std::optional<kernels::Precision>>(word)), word);
  }
  for (const char* word : {"paper", "inverse-square-root", "linear", "cosine", "constant"}) {
    EXPECT_EQ(word_of(option_of<optim::ScheduleKind>(word)), word);
  }
  for (const char* word : {"each-side", "target", "sum", "sentences"}) {
    EXPECT_EQ(word_of(option_of<data::BatchUnit>(word)), word);
  }
  expect_error(ErrorKind::invalid_argument, {"'f16' is not a precision", "auto, f32, bf16"},
               [] { option_of<std::optional<kernels::Precision>>("f16"); });
}

}  // namespace
}  // namespace zhuyi::train
