// zhuyi train, killed at thirty random moments, the writing of files included, and started again: the run that was
// never killed, bit for bit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cli/small_run.h"
#include "cli/traced.h"

namespace zhuyi::testing {
namespace {

constexpr int kMoments = 30;
constexpr int kMomentsATest = 5;

class Killed : public SmallRun, public ::testing::WithParamInterface<int> {
 protected:
  Words whole_command(const std::string& run) const {
    return command(run, {"--steps", "13", "--validate-steps", "4", "--keep", "2", "--keep-every", "5"});
  }
};

TEST_P(Killed, AndStartedAgainItIsTheUninterruptedRun) {
  const Traced whole = run_traced(ZHUYI_PROGRAM, whole_command("whole"), {});
  if (!whole.possible) GTEST_SKIP() << "this system does not let a program be traced";
  ASSERT_EQ(whole.exit_code, 0);
  ASSERT_GT(whole.changes, 100);
  const std::string model = content_of(file("whole", "model.safetensors"));
  std::mt19937 random(20170612);
  for (int i = 0; i < kMoments; ++i) {
    Moment moment;
    moment.change = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(whole.changes));
    moment.where = static_cast<Moment::Where>(random() % 3);
    if (i / kMomentsATest != GetParam()) continue;
    SCOPED_TRACE(::testing::Message() << "killed at change " << moment.change << " of files, kind "
                                      << static_cast<int>(moment.where));
    const std::string run = "run" + std::to_string(i);
    EXPECT_TRUE(run_traced(ZHUYI_PROGRAM, whole_command(run), moment).killed);
    const Outcome again = run_zhuyi(whole_command(run));
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.err, ::testing::Not(::testing::HasSubstr("damaged")));
    EXPECT_TRUE(content_of(file(run, "model.safetensors")) == model);
    EXPECT_EQ(metrics(run), metrics("whole"));
    EXPECT_EQ(files(run), files("whole"));
  }
}

INSTANTIATE_TEST_SUITE_P(AtRandom, Killed, ::testing::Range(0, kMoments / kMomentsATest));

}  // namespace
}  // namespace zhuyi::testing
