// zhuyi train in several processes under mpirun: the losses of one, one run for any number, ends that are explained.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "cli/small_run.h"

namespace zhuyi::testing {
namespace {

using ::testing::HasSubstr;

class MpiRun : public SmallRun {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kStarter)) GTEST_SKIP() << "there is no " << kStarter << " here";
  }

  static Words starter(int processes) {
    return {"--allow-run-as-root",     "--oversubscribe", "--bind-to", "none", "-n",
            std::to_string(processes), ZHUYI_PROGRAM};
  }
  static Outcome run_processes(int processes, const Words& words) {
    return run_program(kStarter, joined(starter(processes), words));
  }
  // A run of 50 steps of four batches each.
  Words fifty_steps(const std::string& run, const Words& more = {}) const {
    return command(run, joined({"--accumulate", "4", "--steps", "50", "--validate-steps", "20", "--warmup", "20",
                                "--learning-rate", "3e-3", "--epsilon", "1e-5"},
                               more));
  }
  void expect_same_losses(const std::string& a, const std::string& b, double tolerance) const {
    const auto x = metrics(a);
    const auto y = metrics(b);
    ASSERT_EQ(x.size(), y.size());
    std::int64_t losses = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i]["step"], y[i]["step"]);
      if (!x[i].contains("loss")) continue;
      EXPECT_NEAR(x[i]["loss"], y[i]["loss"], tolerance * x[i]["loss"].get<double>()) << "step " << x[i]["step"];
      ++losses;
    }
    EXPECT_EQ(losses, 50);
  }

  static constexpr const char* kStarter = "/usr/bin/mpirun";
};

class MpiRunOf : public MpiRun, public ::testing::WithParamInterface<int> {};

TEST_P(MpiRunOf, GivesTheLossesOfOneProcess) {
  ASSERT_EQ(run_zhuyi(fifty_steps("one")).exit_code, 0);
  const Outcome outcome = run_processes(GetParam(), fifty_steps("several"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, file("several", "model.safetensors") + "\n");  // one process speaks
  EXPECT_THAT(outcome.err, HasSubstr(std::to_string(GetParam()) + " processes"));
  expect_same_losses("one", "several", 1e-5);
  EXPECT_EQ(files("several"), files("one"));
}

INSTANTIATE_TEST_SUITE_P(Processes, MpiRunOf, ::testing::Values(2, 4));

TEST_F(MpiRun, ExchangesGradientsOfSixteenBits) {
  ASSERT_EQ(run_zhuyi(fifty_steps("one")).exit_code, 0);
  const Outcome rounded = run_processes(2, fifty_steps("rounded", {"--gradient-bits", "16"}));
  ASSERT_EQ(rounded.exit_code, 0) << rounded.err;
  EXPECT_NE(metrics("rounded"), metrics("one"));
  expect_same_losses("one", "rounded", 0.01);
}

TEST_F(MpiRun, OneThatDiesEndsAllAndAnotherNumberGoesOn) {
  RunningProgram program(
      kStarter,
      joined(starter(3), command("run", {"--accumulate", "2", "--steps", "1000000", "--validate-steps", "5"})), "");
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!std::filesystem::exists(file("run", "checkpoint.previous.safetensors")) &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  // The lock names the process that writes.
  std::ifstream lock(file("run", "run.lock"));
  std::string word;
  pid_t victim = 0;
  lock >> word >> victim;
  ASSERT_GT(victim, 0);
  kill(victim, SIGKILL);
  const Outcome dead = program.wait();
  EXPECT_NE(dead.exit_code, 0);
  EXPECT_THAT(dead.err + dead.out, HasSubstr("exited on signal 9"));
  const Words next = {"train", "-o", folder_.file("run"), "--steps"};
  const Outcome alone = run_zhuyi(joined(next, {"1"}));  // reads where the run stands; nothing is left to do
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  const std::int64_t at = metrics("run").back()["step"];
  EXPECT_EQ(at % 5, 0);
  const Outcome more = run_processes(2, joined(next, {std::to_string(at + 5)}));
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_THAT(more.err, HasSubstr("done after " + std::to_string(at + 5) + " steps"));
}

TEST_F(MpiRun, AnErrorIsSaidOnceAndEndsAll) {
  ASSERT_EQ(run_zhuyi(command("run", {"--steps", "3"})).exit_code, 0);
  const Outcome refused = run_processes(2, {"train", "-o", folder_.file("run"), "--steps", "6", "--seed", "9"});
  EXPECT_EQ(refused.exit_code, 4) << refused.err;
  const std::string message = "other options (seed 1, now 9)";
  const std::size_t said = refused.err.find(message);
  EXPECT_NE(said, std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find(message, said + 1), std::string::npos) << refused.err;
}

TEST_F(MpiRun, AWishToStopThatIsPassedOnStopsAll) {
  RunningProgram program(kStarter, joined(starter(2), command("run", {"--accumulate", "2", "--steps", "1000000"})), "");
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!std::filesystem::exists(file("run", "metrics.jsonl")) && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  program.send(SIGUSR1);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("To continue: zhuyi train -o " + folder_.file("run") + "\n"));
  EXPECT_TRUE(std::filesystem::exists(file("run", "checkpoint.safetensors")));
}

}  // namespace
}  // namespace zhuyi::testing
