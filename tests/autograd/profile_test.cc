// The stop-watch of training steps, with a clock that the test moves.

#include "autograd/profile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace zhuyi::autograd {
namespace {

class ProfileTest : public testing::Test {
 protected:
  double now_ = 100;
  Profile profile_{[this] { return now_; }};

  const ProfileEntry& entry(Operation operation, Pass pass = Pass::forward) { return profile_.entry(operation, pass); }
  double sum_of_seconds() {
    double sum = 0;
    for (std::size_t i = 0; i < kOperationNames.size(); ++i) {
      for (const Pass pass : {Pass::forward, Pass::backward}) sum += entry(static_cast<Operation>(i), pass).seconds;
    }
    return sum;
  }
};

TEST_F(ProfileTest, GivesEachSecondToOneOperation) {
  profile_.begin_step();
  now_ += 1;  // the rest
  {
    const Timing norm(&profile_, Operation::norm, Pass::backward);
    now_ += 2;
  }
  {
    const Timing loss(&profile_, Operation::projection_loss, Pass::forward, {.flops = 10});
    now_ += 4;
    {
      const Timing inside(&profile_, Operation::projection_loss, Pass::backward,
                          {.flops = 20, .precision = kernels::Precision::bf16});
      now_ += 8;
    }
    now_ += 16;
  }
  now_ += 32;  // the rest
  profile_.end_step();

  EXPECT_EQ(profile_.steps(), 1);
  EXPECT_EQ(profile_.seconds(), 63);
  EXPECT_EQ(sum_of_seconds(), 63);
  EXPECT_EQ(entry(Operation::rest).seconds, 33);
  EXPECT_EQ(entry(Operation::norm, Pass::backward).seconds, 2);
  EXPECT_EQ(entry(Operation::norm, Pass::backward).calls, 1);
  EXPECT_EQ(entry(Operation::norm).calls, 0);
  EXPECT_EQ(entry(Operation::projection_loss).seconds, 20);
  EXPECT_EQ(entry(Operation::projection_loss).work.flops, 10);
  EXPECT_EQ(entry(Operation::projection_loss, Pass::backward).seconds, 8);
  EXPECT_EQ(entry(Operation::projection_loss, Pass::backward).work.precision, kernels::Precision::bf16);
}

TEST_F(ProfileTest, StandsStillBetweenSteps) {
  profile_.begin_step();
  now_ += 1;
  profile_.end_step();
  profile_.end_step();
  {
    const Timing validation(&profile_, Operation::linear, Pass::forward, {.flops = 7});
    now_ += 1000;
  }
  const Timing nobody_looks(nullptr, Operation::linear, Pass::forward);
  profile_.begin_step();
  {
    const Timing linear(&profile_, Operation::linear, Pass::forward, {.flops = 5});
    now_ += 2;
  }
  profile_.end_step();
  EXPECT_EQ(profile_.steps(), 2);
  EXPECT_EQ(profile_.seconds(), 3);
  EXPECT_EQ(sum_of_seconds(), 3);
  EXPECT_EQ(entry(Operation::linear).calls, 1);
  EXPECT_EQ(entry(Operation::linear).work.flops, 5);
}

// 64 MB that are written for the first time are 16,384 pages of 4 KB, or a few large ones.
TEST_F(ProfileTest, CountsMemoryThatIsTouchedForTheFirstTime) {
  constexpr std::size_t kBytes = 64 << 20;
  profile_.begin_step();
  const std::unique_ptr<char, decltype(&std::free)> memory(static_cast<char*>(std::malloc(kBytes)), std::free);
  std::memset(memory.get(), 1, kBytes);
  profile_.end_step();
  const std::int64_t faults = profile_.page_faults();
  EXPECT_GE(faults, 32);
  profile_.begin_step();
  std::memset(memory.get(), 2, kBytes);
  profile_.end_step();
  EXPECT_LT(profile_.page_faults() - faults, 32);
  EXPECT_EQ(memory.get()[kBytes - 1], 2);
}

}  // namespace
}  // namespace zhuyi::autograd
