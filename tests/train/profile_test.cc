// Where the time of training goes: every operation of a step is counted, the times add up, and training stays the same.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/parallel.h"
#include "temporary_folder.h"
#include "train/profile_table.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

using autograd::Operation;
using autograd::Pass;
using ::testing::HasSubstr;
using ::testing::Not;

class ProfiledTraining : public ::testing::Test {
 protected:
  // One layer a side; two batches a step.
  TrainResult run(bool profile, std::int64_t steps) {
    base::set_threads(1);
    const TemporaryFolder folder;
    const text::Tokenizer tokenizer = letter_tokenizer();
    const auto pairs = letter_pairs(40, 2, 6, false, 3);
    TrainOptions options;
    options.directory = folder / "";
    options.batches.tokens = 60;
    options.accumulate = 2;
    options.schedule = {.kind = optim::ScheduleKind::constant, .peak = 3e-3, .warmup = 2, .cooldown = 0};
    options.budget.steps = steps;
    options.validate_steps = 2;
    options.keep = 0;
    options.profile = profile;
    formats::Model model = new_model(small_config(16, 1), tokenizer);
    Listener listener;
    TrainResult result = train(model, EncodedCorpus(pairs, tokenizer, tokenizer, 0),
                               Validator(pairs, tokenizer, tokenizer, 2), options, listener);
    metrics_ = metrics_of(folder / "metrics.jsonl");
    return result;
  }

  std::vector<nlohmann::json> metrics_;
};

TEST_F(ProfiledTraining, CountsEveryOperationOfAStep) {
  const autograd::Profile profile = *run(true, 5).profile;
  constexpr std::int64_t kSteps = 4;  // without the first
  EXPECT_EQ(profile.steps(), kSteps);
  const auto calls = [&](Operation operation, Pass pass) { return profile.entry(operation, pass).calls; };
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    // Encoder: four projections of its attention, two of the feed-forward; decoder: four more. In each of two batches.
    EXPECT_EQ(calls(Operation::linear, pass), 2 * kSteps * (6 + 10));
    EXPECT_EQ(calls(Operation::attention, pass), 2 * kSteps * 3);
    // Before every sub-layer, and at the end of both stacks.
    EXPECT_EQ(calls(Operation::norm, pass), 2 * kSteps * (5 + 2));
    EXPECT_EQ(calls(Operation::activation, pass), 2 * kSteps * 2);
    // Around five sub-layers; and two sums of embedding and position.
    EXPECT_EQ(calls(Operation::residual, pass), 2 * kSteps * (5 + 2));
    EXPECT_EQ(calls(Operation::embedding, pass), 2 * kSteps * 2);
    EXPECT_EQ(calls(Operation::dropout, pass), 0);  // there is none
  }
  EXPECT_EQ(calls(Operation::projection_loss, Pass::forward), 2 * kSteps);
  EXPECT_EQ(calls(Operation::optimizer, Pass::forward), 2 * kSteps);  // the gradient is cleared; the weights are moved
  EXPECT_EQ(calls(Operation::all_reduce, Pass::forward), kSteps);
  EXPECT_EQ(calls(Operation::batch, Pass::forward), kSteps * (1 + 2));  // planned; two put together
  EXPECT_GT(profile.entry(Operation::linear, Pass::backward).work.flops,
            1.9 * profile.entry(Operation::linear, Pass::forward).work.flops);
}

TEST_F(ProfiledTraining, TimesAddUpToThatOfTheSteps) {
  const autograd::Profile profile = *run(true, 3).profile;
  double sum = 0;
  for (std::size_t i = 0; i < autograd::kOperationNames.size(); ++i) {
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      sum += profile.entry(static_cast<Operation>(i), pass).seconds;
    }
  }
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(sum, profile.seconds(), 1e-9 * sum + 1e-9);
  EXPECT_LT(profile.entry(Operation::rest, Pass::forward).seconds, 0.5 * sum);
}

TEST_F(ProfiledTraining, IsTheSameWithAndWithout) {
  const TrainResult without = run(false, 4);
  EXPECT_FALSE(without.profile.has_value());
  const std::vector<nlohmann::json> metrics = metrics_;
  run(true, 4);
  EXPECT_EQ(metrics_, metrics);
}

// 3 seconds in two steps, 1.5 of them for 6 GFLOP in bf16: 4 GFLOP/s.
TEST(ProfileTable, ShowsSharesSpeedAndShareOfThePeak) {
  double now = 0;
  autograd::Profile profile([&] { return now; });
  for (const double seconds : {0.5, 1.0}) {
    profile.begin_step();
    now += seconds;
    {
      const autograd::Timing timing(&profile, Operation::linear, Pass::backward,
                                    {.flops = 3e9, .precision = kernels::Precision::bf16});
      now += 0.75;
    }
    profile.end_step();
  }
  const std::string table = profile_table(profile, {.threads = 2, .f32 = 5, .bf16 = 16});
  EXPECT_THAT(table, HasSubstr("2 steps on 2 threads; registers: 5 GFLOP/s in f32, 16 in bf16"));
  EXPECT_THAT(table, HasSubstr("linear           backward      1.0     750.00   50.0 %       4.0      25 % of bf16\n"));
  EXPECT_THAT(table, HasSubstr("the rest                       1.0     750.00   50.0 %\n"));
  EXPECT_THAT(table, HasSubstr("a step                                1500.00\n"));
  EXPECT_THAT(table, Not(HasSubstr("attention")));
  EXPECT_EQ(profile_table(autograd::Profile(), {}), "profile: no steps\n");
}

}  // namespace
}  // namespace zhuyi::train
