// Messages larger than MPI's blocks of 64 MiB, between processes that mpirun starts: this program itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "running_program.h"
#include "train/communicator.h"

namespace zhuyi::train {
namespace {

constexpr const char* kStarter = "/usr/bin/mpirun";
constexpr std::int64_t kBlock = std::int64_t{1} << 26;  // bytes of a message

// Whole numbers small enough for every sum to be exact, in bfloat16 too (below 256).
float number_of(std::int64_t i, std::int64_t rank) { return static_cast<float>((i % 60) + 5 * rank); }

// Sums `count` numbers in `bits` and compares every one; says how many are wrong.
std::int64_t wrong_sums(Communicator& processes, std::int64_t count, int bits) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = number_of(i, processes.rank());
  processes.sum(numbers, bits);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    float expected = 0;
    for (std::int64_t rank = 0; rank < processes.size(); ++rank) expected += number_of(i, rank);
    wrong += numbers[static_cast<std::size_t>(i)] == expected ? 0 : 1;
  }
  return wrong;
}

// One of the processes of the test below, which has mpirun start it.
TEST(LargeMessages, DISABLED_OneProcess) {
  const std::unique_ptr<Communicator> processes = connect();
  ASSERT_GT(processes->size(), 1);
  // A block and a part of the next, which does not divide by the number of processes; exactly a block; two and a bit.
  EXPECT_EQ(wrong_sums(*processes, kBlock / 4 + 1'000'003, 32), 0);
  EXPECT_EQ(wrong_sums(*processes, kBlock / 4, 32), 0);
  if (processes->size() == 2) {
    EXPECT_EQ(wrong_sums(*processes, 2 * kBlock / 4 + 1, 32), 0);
    EXPECT_EQ(wrong_sums(*processes, kBlock / 2 + 1'000'003, 16), 0);
  }
  std::string text = "every piece of it is another: ";
  while (std::ssize(text) < 2 * kBlock + 17) text += text + std::to_string(text.size());
  const std::string heard = broadcast(*processes, processes->rank() == 0 ? text : "");
  EXPECT_TRUE(heard == text);
}

class LargeMessagesMpiRun : public ::testing::TestWithParam<int> {};

TEST_P(LargeMessagesMpiRun, ArriveWhole) {
  if (!std::filesystem::exists(kStarter)) GTEST_SKIP() << "skipped: there is no " << kStarter << " here";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const zhuyi::testing::Outcome outcome = zhuyi::testing::run_program(
      kStarter,
      {"--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", std::to_string(GetParam()), self,
       "--gtest_filter=LargeMessages.DISABLED_OneProcess", "--gtest_also_run_disabled_tests", "--gtest_color=no"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  // Every process has run the test.
  std::size_t passed = 0;
  for (std::size_t at = 0; (at = outcome.out.find("[  PASSED  ] 1 test.", at)) != std::string::npos; ++at) ++passed;
  EXPECT_EQ(passed, static_cast<std::size_t>(GetParam())) << outcome.out;
}

INSTANTIATE_TEST_SUITE_P(Processes, LargeMessagesMpiRun, ::testing::Values(2, 3));

}  // namespace
}  // namespace zhuyi::train
