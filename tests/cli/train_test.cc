// zhuyi train from outside: from text to a model file, stopped and continued, damaged runs, and the help.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/train_command.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

TEST_F(TrainCommand, GoesFromFilesOfTextToAModelThatTranslates) {
  std::string text;
  std::istringstream lines(pairs(0, 100));
  for (std::string line; std::getline(lines, line);) text += line.substr(0, line.rfind('\t')) + "\n";
  std::replace(text.begin(), text.end(), '\t', '\n');
  const std::string corpus = folder_.file("corpus.tsv");
  const Outcome made =
      run_zhuyi({"corpus", "tsv:" + folder_.write("text.tsv", pairs(0, 100)), "-o", corpus, "--hold-out", "valid=20%"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, corpus + "\n" + folder_.file("corpus.valid.tsv") + "\n");

  const std::string pieces = folder_.file("pieces.model");
  const Outcome learned = run_zhuyi(
      {"tokenizer", "train", "--input", corpus, "--output", pieces, "--vocabulary", "400", "--vocabulary-is-limit"});
  ASSERT_EQ(learned.exit_code, 0) << learned.err;
  text += "  two  spaces, and 😀 \n";
  const Outcome encoded = run_zhuyi({"tokenizer", "encode", "-m", pieces}, text);
  const Outcome decoded = run_zhuyi({"tokenizer", "decode", "-m", pieces}, encoded.out);
  EXPECT_EQ(decoded.exit_code, 0) << decoded.err;
  EXPECT_EQ(decoded.out, text);

  train_ = corpus;
  valid_ = folder_.file("corpus.valid.tsv");
  const Outcome outcome = run_zhuyi(command({"--steps", "30", "--tokenizer", pieces}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, in_run("model.safetensors") + "\n");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("done after 30 steps"), HasSubstr("validation nll"), HasSubstr("80 pairs")));
  EXPECT_THAT(content_of(in_run("model.safetensors")).substr(8, 200), HasSubstr("{"));
  const Outcome translated = run_zhuyi({"translate", "-m", in_run("model.safetensors")}, "open the file\n\nclose it\n");
  EXPECT_EQ(translated.exit_code, 0) << translated.err;
  EXPECT_EQ(std::count(translated.out.begin(), translated.out.end(), '\n'), 3);
  std::int64_t reports = 0;
  for (const nlohmann::json& line : records_of(in_run("metrics.jsonl"))) {
    if (!line.contains("loss")) continue;
    EXPECT_EQ(line["step"], ++reports);
    EXPECT_GT(line["seconds"], 0);
    EXPECT_GT(line["target_tokens_per_second"], 0);
  }
  EXPECT_EQ(reports, 30);
}

// The run must end by the signal; were it to miss it, the test would fail after the steps are done.
TEST_F(TrainCommand, StoppedBySignalItContinuesByItsDirectoryAlone) {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    run_ = folder_.file("run" + std::to_string(signal_number));
    RunningProgram program(ZHUYI_PROGRAM, command({"--steps", "100000"}), "");
    const Clock::time_point give_up = Clock::now() + std::chrono::seconds(120);
    while (!std::filesystem::exists(in_run("metrics.jsonl")) && Clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    program.send(signal_number);
    const Outcome stopped = program.wait();
    EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
    EXPECT_EQ(stopped.out, "");
    EXPECT_THAT(stopped.err, HasSubstr("To continue: zhuyi train -o " + run_ + "\n"));
    EXPECT_EQ(run_zhuyi({"translate", "-m", in_run("model.safetensors")}, "open\n").exit_code, 0);

    const std::int64_t at = records_of(in_run("metrics.jsonl")).back()["step"];
    ASSERT_GE(at, 1);
    const Outcome continued = run_zhuyi({"train", "-o", run_, "--steps", std::to_string(at + 5)});
    EXPECT_EQ(continued.exit_code, 0) << continued.err;
    EXPECT_THAT(continued.err, AllOf(HasSubstr("continuing at step " + std::to_string(at)),
                                     HasSubstr("done after " + std::to_string(at + 5) + " steps")));
    std::int64_t expected = 0;
    for (const nlohmann::json& line : records_of(in_run("metrics.jsonl"))) {
      if (line.contains("loss")) {
        EXPECT_EQ(line["step"], ++expected);
      }
    }
    EXPECT_EQ(expected, at + 5);
    // The directory remembers the new end as well: nothing is left to do.
    const Outcome again = run_zhuyi({"train", "-o", run_});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("done after " + std::to_string(at + 5) + " steps"));
  }
}

TEST_F(TrainCommand, StoppedAndContinuedIsTheUninterruptedRun) {
  ASSERT_EQ(run_zhuyi(command({"--steps", "12", "--validate-steps", "5", "--threads", "1"})).exit_code, 0);
  const std::string whole = content_of(in_run("model.safetensors"));
  run_ = folder_.file("parts");
  for (const char* steps : {"4", "9", "12"}) {
    const Outcome part = run_zhuyi(command({"--validate-steps", "5", "--threads", "1", "--steps", steps}));
    ASSERT_EQ(part.exit_code, 0) << part.err;
  }
  // Ends of runs are validated too, so other snapshots were kept; the weights at the last step are the same.
  const auto weights = [](const std::string& path) {
    const std::string bytes = content_of(path);
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    return bytes.substr(8 + header);
  };
  EXPECT_EQ(weights(folder_.file("run/snapshot-12.safetensors")), weights(in_run("snapshot-12.safetensors")));
}

TEST_F(TrainCommand, ADamagedRunIsRefusedAndLeftAsItIs) {
  ASSERT_EQ(run_zhuyi(command({"--steps", "2"})).exit_code, 0);
  const std::string checkpoint = content_of(in_run("checkpoint.safetensors"));
  const std::string model = content_of(in_run("model.safetensors"));
  for (const std::string& bytes : {std::string(checkpoint.size(), '\0'), checkpoint.substr(0, checkpoint.size() / 2)}) {
    folder_.write("run/checkpoint.safetensors", bytes);
    const Outcome outcome = run_zhuyi({"train", "-o", run_, "--steps", "4"});
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("checkpoint.safetensors"));
    EXPECT_EQ(content_of(in_run("checkpoint.safetensors")), bytes);
    EXPECT_EQ(content_of(in_run("model.safetensors")), model);
  }
  folder_.write("run/checkpoint.safetensors", checkpoint);
  folder_.write("run/config.toml", std::string(100, '\0'));
  const Outcome outcome = run_zhuyi(command({"--steps", "4"}));
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("config.toml"));
}

TEST_F(TrainCommand, AProfileIsShownWhenItIsAskedForAndNotRemembered) {
  const Outcome first = run_zhuyi(command({"--steps", "3", "--profile"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, AllOf(HasSubstr("profile of 2 steps"), HasSubstr("linear           backward"),
                               HasSubstr("new memory"), HasSubstr("done after 3 steps")));
  EXPECT_EQ(first.out, in_run("model.safetensors") + "\n");
  const Outcome second = run_zhuyi({"train", "-o", run_, "--steps", "5"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, AllOf(Not(HasSubstr("profile")), HasSubstr("done after 5 steps")));
}

TEST_F(TrainCommand, ADirectoryThatCannotBeWrittenIsTheSystemsFault) {
  run_ = "/proc/zhuyi-run";
  Outcome outcome = run_zhuyi(command({"--steps", "1"}));
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("/proc/zhuyi-run"));
  run_ = folder_.write("file", "text");
  outcome = run_zhuyi(command({"--steps", "1"}));
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  EXPECT_EQ(content_of(run_), "text");
}

TEST(Program, EveryCommandExplainsItself) {
  const Outcome all = run_zhuyi({"--help"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_EQ(all.err, "");
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"attention", "--kernel"}, {"corpus", "--max-characters"}, {"evaluate", "--tokenize"},  {"inspect", "--preset"},
      {"score", "--model"},      {"tokenizer", "--vocabulary"},  {"train", "--batch-tokens"}, {"translate", "--model"}};
  for (const auto& [command, option] : commands) {
    EXPECT_THAT(all.out, HasSubstr(command));
    const Outcome help = run_zhuyi({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    EXPECT_THAT(help.out, HasSubstr(option));
    EXPECT_THAT(help.out, HasSubstr("--config"));
  }
  const std::string train = run_zhuyi({"train", "--help"}).out;
  EXPECT_THAT(train, ::testing::ContainsRegex("--batch-tokens[^\n]*=1024"));
  EXPECT_THAT(train, ::testing::ContainsRegex("--learning-rate[^\n]*=0.002"));
  EXPECT_THAT(train, ::testing::ContainsRegex("--seed[^\n]*=1"));
  EXPECT_THAT(run_zhuyi({"tokenizer", "--help"}).out, ::testing::ContainsRegex("--vocabulary[^\n]*\\[8000\\]"));
  EXPECT_THAT(run_zhuyi({"corpus", "--help"}).out, ::testing::ContainsRegex("--max-characters[^\n]*\\[400\\]"));
}

TEST(Program, SaysItsVersion) {
  const Outcome outcome = run_zhuyi({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, ::testing::MatchesRegex("zhuyi [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_EQ(run_zhuyi({}).exit_code, 2);
  EXPECT_EQ(run_zhuyi({"--wrong"}).exit_code, 2);
}

// Two texts with weights (kept when the run is continued), frozen parts, event files, samples in the metrics; then a
// model with another vocabulary that starts from it, on streamed text cut anew.
TEST_F(TrainCommand, TakesWeightedTextsAndStartsFromAModelWithAnotherVocabulary) {
  const std::string more = folder_.write("more.tsv", pairs(200, 230));
  const std::vector<std::string> common = {
      "train", "--valid",          valid_, "--preset",       "tiny", "--d-model",
      "16",    "--d-ff",           "16",   "--threads",      "1",    "--batch-tokens",
      "200",   "--validate-steps", "2",    "--report-steps", "1"};
  const Outcome first = run_zhuyi(
      common + std::vector<std::string>{"-o", run_, "--train", train_ + ":2", "--train", more, "--steps", "4",
                                        "--vocabulary", "330", "--freeze", "*.bias", "--freeze", "encoder.0.*",
                                        "--tensorboard", "--batch-by", "sum", "--warmup-tokens", "500"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("130 pairs"));
  const Outcome longer = run_zhuyi({"train", "-o", run_, "--steps", "6"});
  ASSERT_EQ(longer.exit_code, 0) << longer.err;
  EXPECT_THAT(content_of(run_ + "/config.toml"), AllOf(HasSubstr("train.tsv:2"), HasSubstr("encoder.0.*")));
  int events = 0;
  for (const auto& entry : std::filesystem::directory_iterator(run_)) {
    events += entry.path().filename().string().starts_with("events.out.tfevents.") ? 1 : 0;
  }
  EXPECT_EQ(events, 2);  // one a call
  for (const nlohmann::json& line : records_of(run_ + "/metrics.jsonl")) {
    if (!line.contains("valid_nll") || line.contains("averaged_snapshots")) continue;
    ASSERT_EQ(line["samples"].size(), 5u);
    EXPECT_EQ(line["samples"][0]["source"], "open the page number 100");
  }
  const Outcome refused = run_zhuyi({"train", "-o", run_, "--steps", "6", "--freeze", "decoder.*"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("freeze"));

  const std::vector<std::string> second = common + std::vector<std::string>{"-o",
                                                                            folder_.file("second"),
                                                                            "--train",
                                                                            more,
                                                                            "--from",
                                                                            run_ + "/model.safetensors",
                                                                            "--new-vocabulary",
                                                                            "--vocabulary",
                                                                            "320",
                                                                            "--steps",
                                                                            "2",
                                                                            "--stream-pairs",
                                                                            "10",
                                                                            "--subword-sampling",
                                                                            "0.3"};
  const Outcome tuned = run_zhuyi(second);
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_THAT(tuned.err, AllOf(HasSubstr("keep their rows"), HasSubstr("30 lines")));
  ASSERT_EQ(run_zhuyi({"train", "-o", folder_.file("second"), "--steps", "3"}).exit_code, 0);
  EXPECT_EQ(run_zhuyi(common + std::vector<std::string>{"-o", folder_.file("x"), "--train", more, "--new-vocabulary"})
                .exit_code,
            2);
}

}  // namespace
}  // namespace zhuyi::testing
