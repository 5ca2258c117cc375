// Learning rates against the formulas worked out by hand.

#include "optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace zhuyi::optim {
namespace {

Schedule schedule(ScheduleKind kind, double peak, std::int64_t warmup) {
  Schedule result;
  result.kind = kind;
  result.peak = peak;
  result.warmup = warmup;
  return result;
}

// Paper 5.3, equation 3, with d_model 512 and 4,000 warm-up steps: 512^-0.5 = 0.0441941738, 4000^-1.5 = 3.95284708e-6.
// Step 1: 0.0441941738 * 3.95284708e-6 = 1.74692811e-7. Step 4000: 0.0441941738 * 4000^-0.5 = 6.98771243e-4, the peak.
// Step 16000: half of that. Step 100000: 0.0441941738 / 316.227766 = 1.39754249e-4.
TEST(Schedule, OfThePaper) {
  const Schedule paper = schedule(ScheduleKind::paper, 1, 4000);
  EXPECT_NEAR(paper.rate(1, 0), 1.74692811e-7, 1e-15);
  EXPECT_NEAR(paper.rate(2000, 0), 3.493856214e-4, 1e-12);
  EXPECT_NEAR(paper.rate(4000, 0), 6.98771243e-4, 1e-12);
  EXPECT_NEAR(paper.rate(16000, 0), 3.493856214e-4, 1e-12);
  EXPECT_NEAR(paper.rate(100000, 0), 1.39754249e-4, 1e-12);
  for (const std::int64_t step : {1, 3999, 4001, 50000}) EXPECT_LT(paper.rate(step, 0), paper.rate(4000, 0)) << step;
  EXPECT_EQ(paper.rate(5000, 0.9), paper.rate(5000, 0));  // progress says nothing
  // `peak` is a factor here; the rate falls with the root of the width: 1024 has half the rate of 256.
  Schedule wide = schedule(ScheduleKind::paper, 2, 4000);
  wide.d_model = 1024;
  Schedule narrow = wide;
  narrow.d_model = 256;
  EXPECT_NEAR(wide.rate(4000, 0), 2 * 4.94105884e-4, 1e-11);
  EXPECT_NEAR(wide.rate(123, 0) / narrow.rate(123, 0), 0.5, 1e-12);
}

TEST(Schedule, InverseSquareRoot) {
  const Schedule root = schedule(ScheduleKind::inverse_square_root, 5e-4, 100);
  EXPECT_NEAR(root.rate(1, 0), 5e-6, 1e-18);
  EXPECT_NEAR(root.rate(50, 0), 2.5e-4, 1e-15);
  EXPECT_NEAR(root.rate(100, 0), 5e-4, 1e-15);
  EXPECT_NEAR(root.rate(400, 0), 2.5e-4, 1e-15);
  EXPECT_NEAR(root.rate(10000, 1), 5e-5, 1e-15);
}

TEST(Schedule, Linear) {
  const Schedule linear = schedule(ScheduleKind::linear, 1e-3, 10);
  EXPECT_NEAR(linear.rate(5, 0), 5e-4, 1e-15);
  EXPECT_NEAR(linear.rate(10, 0), 1e-3, 1e-15);
  EXPECT_NEAR(linear.rate(100, 0.25), 7.5e-4, 1e-15);
  EXPECT_NEAR(linear.rate(100, 0.75), 2.5e-4, 1e-15);
  EXPECT_EQ(linear.rate(100, 1), 0);
  EXPECT_EQ(linear.rate(100, 1.5), 0);  // training by the clock may run over
}

// Half a cosine: (1 + cos(pi progress)) / 2.
TEST(Schedule, Cosine) {
  const Schedule cosine = schedule(ScheduleKind::cosine, 1e-3, 10);
  EXPECT_NEAR(cosine.rate(3, 0), 3e-4, 1e-15);
  EXPECT_NEAR(cosine.rate(100, 1.0 / 3), 7.5e-4, 1e-12);
  EXPECT_NEAR(cosine.rate(100, 0.5), 5e-4, 1e-12);
  EXPECT_NEAR(cosine.rate(100, 2.0 / 3), 2.5e-4, 1e-12);
  EXPECT_NEAR(cosine.rate(100, 1), 0, 1e-15);
}

TEST(Schedule, ConstantWithCooldown) {
  Schedule constant = schedule(ScheduleKind::constant, 1e-3, 10);
  constant.cooldown = 0.2;
  EXPECT_NEAR(constant.rate(1, 0), 1e-4, 1e-15);
  EXPECT_NEAR(constant.rate(50, 0.5), 1e-3, 1e-15);
  EXPECT_NEAR(constant.rate(50, 0.8), 1e-3, 1e-15);
  EXPECT_NEAR(constant.rate(50, 0.9), 5e-4, 1e-12);
  EXPECT_NEAR(constant.rate(50, 0.95), 2.5e-4, 1e-12);
  EXPECT_EQ(constant.rate(50, 1), 0);
  constant.cooldown = 0;
  EXPECT_EQ(constant.rate(50, 1), 1e-3);
}

// A quarter of the warm-up's tokens: a quarter of the peak; four times as many: sqrt(1 / 4) of it.
TEST(Schedule, WarmUpByTokens) {
  Schedule root = schedule(ScheduleKind::inverse_square_root, 1e-3, 7);
  root.warmup_tokens = 1000000;
  EXPECT_NEAR(root.rate(3, 0, 250000), 2.5e-4, 1e-15);
  EXPECT_NEAR(root.rate(9999, 0, 1000000), 1e-3, 1e-15);
  EXPECT_NEAR(root.rate(9999, 0, 4000000), 5e-4, 1e-15);
  Schedule linear = root;
  linear.kind = ScheduleKind::linear;
  EXPECT_NEAR(linear.rate(1, 0.1, 500000), 5e-4, 1e-15);
  EXPECT_NEAR(linear.rate(1, 0.75, 500000), 2.5e-4, 1e-15);
}

TEST(Schedule, RefusesStepZeroAndUnknownNames) {
  EXPECT_THROW(schedule(ScheduleKind::paper, 1, 4000).rate(0, 0), base::Error);
  EXPECT_THROW(schedule(ScheduleKind::linear, 1, 0).rate(1, 0), base::Error);
  for (const char* name : {"paper", "inverse-square-root", "linear", "cosine", "constant"}) {
    EXPECT_EQ(name_of(schedule_of(name)), name);
  }
  EXPECT_EQ(schedule_of("cosine"), ScheduleKind::cosine);
  try {
    schedule_of("steps");
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("paper, inverse-square-root, linear, cosine, constant"));
  }
}

}  // namespace
}  // namespace zhuyi::optim
