// The run directory of zhuyi train from outside: one process at a time, damage named, fine-tuning, a limit of memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "cli/small_run.h"
#include "formats/model_file.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RunDirectory : public SmallRun {};

TEST_F(RunDirectory, LetsOneProcessInAtATime) {
  RunningProgram program(ZHUYI_PROGRAM, command("run", {"--steps", "1000000"}), "");
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!std::filesystem::exists(file("run", "metrics.jsonl")) && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const Outcome second = run_zhuyi({"train", "-o", folder_.file("run")});
  EXPECT_EQ(second.exit_code, 5) << second.err;
  EXPECT_THAT(second.err, AllOf(HasSubstr("the run directory " + folder_.file("run") + " is in use by process "),
                                HasSubstr("another directory")));
  program.send(SIGINT);
  EXPECT_EQ(program.wait().exit_code, 130);
  EXPECT_EQ(run_zhuyi({"train", "-o", folder_.file("run"), "--steps", "1"}).exit_code, 0);
}

TEST_F(RunDirectory, ADamagedCheckpointIsNamedAndTheOneBeforeItUsed) {
  const Words words = command("run", {"--steps", "9", "--validate-steps", "3", "--keep", "1"});
  ASSERT_EQ(run_zhuyi(words).exit_code, 0);
  const std::string model = content_of(file("run", "model.safetensors"));
  const auto lines = metrics("run");
  std::string bytes = content_of(file("run", "checkpoint.safetensors"));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  folder_.write("run/checkpoint.safetensors", bytes);
  const Outcome again = run_zhuyi(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.err, AllOf(HasSubstr("checkpoint.safetensors is damaged: its checksum is "),
                               HasSubstr("going on from the checkpoint before it"), HasSubstr("continuing at step 6")));
  EXPECT_TRUE(content_of(file("run", "model.safetensors")) == model);
  EXPECT_EQ(metrics("run"), lines);
}

TEST_F(RunDirectory, ModelsKnowTheScriptsOfTheirSources) {
  const auto scripts_of = [&](const char* run) {
    return formats::load_model(file(run, "model.safetensors")).source_scripts;
  };
  ASSERT_EQ(run_zhuyi(command("old", {"--steps", "1"})).exit_code, 0);
  EXPECT_THAT(scripts_of("old"), ElementsAre("Latn"));
  const Outcome kept = run_zhuyi({"translate", "-m", file("old", "model.safetensors")}, "请打开文件。\n");
  EXPECT_EQ(kept.out, "请打开文件。\n");
  // Of what is learnt afterwards too, unless what came before is not known.
  const Words fine = {"train",   "--train",   folder_.write("new.tsv", "открой файл\topen\nзакрой файл\tclose\n"),
                      "--valid", valid_,      "--steps",
                      "1",       "--threads", "1",
                      "--from"};
  const std::string old = file("old", "model.safetensors");
  ASSERT_EQ(run_zhuyi(joined(fine, {old, "-o", folder_.file("new")})).exit_code, 0);
  EXPECT_THAT(scripts_of("new"), ElementsAre("Cyrl", "Latn"));
  ASSERT_EQ(run_zhuyi({"train", "-o", folder_.file("new"), "--steps", "2"}).exit_code, 0);
  EXPECT_THAT(scripts_of("new"), ElementsAre("Cyrl", "Latn"));
  formats::Model unknown = formats::load_model(old);
  unknown.source_scripts.clear();
  formats::save_model(folder_.file("unknown"), unknown);
  ASSERT_EQ(run_zhuyi(joined(fine, {folder_.file("unknown"), "-o", folder_.file("newer")})).exit_code, 0);
  EXPECT_THAT(scripts_of("newer"), ::testing::IsEmpty());
}

TEST_F(RunDirectory, StartsWithAnotherModelsWeights) {
  ASSERT_EQ(run_zhuyi(command("old",
                              {"--steps", "60", "--validate-steps", "20", "--learning-rate", "1e-2", "--warmup", "10"}))
                .exit_code,
            0);
  const std::string model = file("old", "model.safetensors");
  const Words fine = {"train",   "--from",    model, "--train",           folder_.write("new.tsv", some_pairs(40, 90)),
                      "--valid", valid_,      "-o",  folder_.file("new"), "--report-steps",
                      "1",       "--threads", "1"};
  const Outcome first = run_zhuyi(joined(fine, {"--steps", "2", "--validate-steps", "1", "--dropout", "0"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  // Its first loss is the last of the model, not that of fresh weights; the optimiser is fresh, its steps are its own.
  double before = 0;
  for (const auto& line : metrics("old")) {
    if (line.contains("nll")) before = line["nll"];
  }
  EXPECT_NEAR(metrics("new").front()["nll"].get<double>(), before, 0.5);
  EXPECT_GT(metrics("old").front()["nll"].get<double>(), before + 1);
  EXPECT_EQ(metrics("new").front()["step"], 1);
  const Outcome inspected = run_zhuyi({"inspect", file("new", "model.safetensors")});
  EXPECT_THAT(inspected.out, AllOf(HasSubstr("started-from"), HasSubstr(model)));
  // The run goes on when the model it started with is gone.
  std::filesystem::rename(model, model + ".away");
  const Outcome second = run_zhuyi({"train", "-o", folder_.file("new"), "--steps", "4"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("continuing at step 2"));
  EXPECT_EQ(run_zhuyi(joined(fine, {"--steps", "6", "--from", "elsewhere"})).exit_code, 2);
  const Outcome other = run_zhuyi({"train", "-o", folder_.file("new"), "--steps", "6", "--from", "elsewhere"});
  EXPECT_EQ(other.exit_code, 4);
  EXPECT_THAT(other.err, HasSubstr("now \"elsewhere\""));
}

TEST_F(RunDirectory, RefusesAModelOfOtherSizesToStartWith) {
  ASSERT_EQ(run_zhuyi(command("old", {"--steps", "1"})).exit_code, 0);
  const Outcome wider = run_zhuyi(command("new", {"--steps", "1", "--from", file("old", "model.safetensors")}));
  EXPECT_EQ(wider.exit_code, 0) << wider.err;  // the same sizes
  const Outcome refused = run_zhuyi({"train", "--from", file("old", "model.safetensors"), "--train", train_, "--valid",
                                     valid_, "-o", folder_.file("wide"), "--d-ff", "32", "--steps", "1"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--from"), HasSubstr("d-ff 16, now 32")));
  const Outcome missing = run_zhuyi(command("none", {"--steps", "1", "--from", folder_.file("missing")}));
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("missing"));
}

// The largest memory, in KiB, that the program took.
std::int64_t peak_of(const Words& words) {
  rusage before{};
  getrusage(RUSAGE_CHILDREN, &before);
  const Outcome outcome = run_zhuyi(words);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  rusage after{};
  getrusage(RUSAGE_CHILDREN, &after);
  return after.ru_maxrss;  // of the largest child so far
}

TEST_F(RunDirectory, ALimitOfMemorySplitsBatches) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += some_pairs(0, 80);
  train_ = folder_.write("long.tsv", text);
  const Words wide = {"--d-model",        "64", "--d-ff",    "1024", "--encoder-layers", "3",
                      "--decoder-layers", "3",  "--dropout", "0"};
  const auto words = [&](const std::string& run, const Words& more) {
    Words all = command(run, joined({"--steps", "3"}, more));
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      for (std::size_t j = 0; j < wide.size(); j += 2) {
        if (all[i] == wide[j]) all[i + 1] = wide[j + 1];
      }
      if (all[i] == "--batch-tokens") all[i + 1] = "4000";
    }
    return joined(all, {"--dropout", "0"});
  };
  constexpr std::int64_t kLimit = 160;  // MiB
  const std::int64_t limited = peak_of(words("limited", {"--memory", std::to_string(kLimit) + "M"}));
  EXPECT_LT(limited, kLimit * 1024);
  const std::int64_t unlimited = peak_of(words("unlimited", {}));
  EXPECT_GT(unlimited, kLimit * 1024);
  const auto x = metrics("limited");
  const auto y = metrics("unlimited");
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!x[i].contains("loss")) continue;
    EXPECT_NEAR(x[i]["loss"], y[i]["loss"], 1e-5 * x[i]["loss"].get<double>());
    EXPECT_NEAR(x[i]["gradient_norm"], y[i]["gradient_norm"], 1e-4 * x[i]["gradient_norm"].get<double>());
  }
  const Outcome small = run_zhuyi(words("small", {"--memory", "64M"}));
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_THAT(small.err, AllOf(HasSubstr("memory is 64 MiB"), HasSubstr("expected more than")));
  EXPECT_EQ(run_zhuyi(words("small", {"--memory", "much"})).exit_code, 2);
}

}  // namespace
}  // namespace zhuyi::testing
