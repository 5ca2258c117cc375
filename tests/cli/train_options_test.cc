// The options of zhuyi train from outside: from a file, remembered by the run, wrong ones refused by name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/train_command.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(TrainCommand, TakesItsOptionsFromAFileAndTheCommandLineWins) {
  const std::string config = folder_.write("options.toml",
                                           "steps = 7  # of training\n"
                                           "report_steps = 1\n"
                                           "[train]\n"
                                           "train = \"" +
                                               train_ + "\"\nvalid = \"" + valid_ +
                                               "\"\n"
                                               "preset = \"tiny\"\nd-model = 16\nd-ff = 16\nheads = 2\n"
                                               "encoder-layers = 1\ndecoder-layers = 1\nvocabulary = 400\n"
                                               "learning-rate = 2e-3\nseparate-tokenizers = true\n"
                                               "[tokenizer]\nids = true\n");
  const Outcome outcome = run_zhuyi({"train", "--config", config, "-o", run_, "--steps", "2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("done after 2 steps"));
  EXPECT_TRUE(std::filesystem::exists(in_run("tokenizer.source.model")));
  EXPECT_TRUE(std::filesystem::exists(in_run("tokenizer.target.model")));
  EXPECT_FALSE(std::filesystem::exists(in_run("tokenizer.model")));
  const Outcome continued = run_zhuyi({"train", "-o", run_, "--steps", "3"});  // flags are remembered, too
  EXPECT_EQ(continued.exit_code, 0) << continued.err;
  EXPECT_FALSE(std::filesystem::exists(in_run("tokenizer.model")));
}

TEST_F(TrainCommand, RecipesSuitTheSize) {
  std::vector<std::string> large = command({"--steps", "1", "--warmup", "10"});
  std::replace(large.begin(), large.end(), std::string("tiny"), std::string("base"));
  std::erase(large, "--batch-tokens");
  std::erase(large, "200");
  ASSERT_EQ(run_zhuyi(large).exit_code, 0);
  EXPECT_THAT(content_of(in_run("config.toml")),
              AllOf(HasSubstr("inverse-square-root"), HasSubstr("learning-rate = '7e-4'"), HasSubstr("warmup = '10'"),
                    HasSubstr("batch-tokens = '4096'")));
}

TEST_F(TrainCommand, TwoFlagsInAFileAreBothHeard) {
  const std::string pieces = folder_.file("pieces.model");
  const std::string config =
      folder_.write("options.toml", "input = [\"" + train_ + "\"]\noutput = \"" + pieces +
                                        "\"\nsize = 2000\nsize-is-limit = true\nbyte-fallback = false\n");
  const Outcome outcome = run_zhuyi({"tokenizer", "train", "--config", config});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;  // without the first flag 2,000 pieces are too many
  const Outcome encoded = run_zhuyi({"tokenizer", "encode", "-m", pieces}, "😀\n");
  EXPECT_THAT(encoded.out, Not(HasSubstr("<0x")));  // the second one
}

TEST_F(TrainCommand, WrongWordsNameTheNearestRightOne) {
  Outcome outcome = run_zhuyi(command({"--stepz", "3"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--stepz"), HasSubstr("did you mean --steps?"), HasSubstr("--help")));
  outcome = run_zhuyi(command({"--learning-rat=3"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean --learning-rate?"));
  outcome = run_zhuyi({"trian", "-o", run_});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean train?"));
  outcome = run_zhuyi(command({"--config", folder_.write("a.toml", "stps = 3\n")}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("'stps'"), HasSubstr("did you mean --steps?")));
  outcome = run_zhuyi(command({"--config", folder_.write("b.toml", "[trains]\nsteps = 3\n")}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean train?"));
  outcome = run_zhuyi(command({"--config", folder_.write("c.toml", "[train]\nwarmpu = 3\n")}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("did you mean --warmup?"));
  outcome = run_zhuyi(command({"--config", folder_.write("d.toml", "steps = = 3\n")}));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("line 1"));
  outcome = run_zhuyi(command({"--config", folder_.file("missing.toml")}));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("missing.toml"));
  EXPECT_FALSE(std::filesystem::exists(run_));
}

TEST_F(TrainCommand, BadNumbersAreUsage) {
  const std::vector<std::vector<std::string>> cases = {{"--steps", "many"},
                                                       {"--steps", "-1"},
                                                       {"--minutes", "-2"},
                                                       {"--minutes", "nan"},
                                                       {"--batch-tokens", "0"},
                                                       {"--warmup", "0"},
                                                       {"--warmup", "1e99"},
                                                       {"--learning-rate", "fast"},
                                                       {"--seed", "-1"},
                                                       {"--threads", "0"},
                                                       {"--beta2", "1"},
                                                       {"--clip", "-1"},
                                                       {"--accumulate", "0"},
                                                       {"--schedule", "downhill"},
                                                       {"--report-steps", "0"},
                                                       {"--max-tokens", "-5"},
                                                       {"--dropout", "1.5"},
                                                       {"--dropout", "x"},
                                                       {"--heads", "3"},
                                                       {"--preset", "huge"},
                                                       {"--norm-placement", "middle"},
                                                       {"--vocabulary", "0"},
                                                       {"--tokenizer-type", "words"},
                                                       {"--keep", "-1"},
                                                       {"--gated", "perhaps"},
                                                       {"--steps"}};
  for (const std::vector<std::string>& options : cases) {
    std::vector<std::string> words = {"train", "--train", train_, "--valid", valid_, "-o", run_};
    if (options[0] != "--steps") words = words + std::vector<std::string>{"--steps", "1"};
    const Outcome outcome = run_zhuyi(words + options);
    EXPECT_EQ(outcome.exit_code, 2) << options[0] << " " << options.back() << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(options[0].substr(2)));
    EXPECT_FALSE(std::filesystem::exists(run_));
  }
  const Outcome outcome = run_zhuyi({"train", "--train", train_, "--valid", valid_});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--output"));
}

TEST_F(TrainCommand, ABadFileIsNamedAndLeavesNothing) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {folder_.file("missing.tsv"), "missing.tsv"},
      {folder_.write("zeros.tsv", std::string(1000, '\0')), "zeros.tsv"},
      {folder_.write("empty.tsv", ""), "empty.tsv"},
      {folder_.write("half.tsv", pairs(0, 20).substr(0, 500) + "\nopen the fi"), "half.tsv"},
      {folder_.path().string(), folder_.path().string()},
  };
  for (const auto& [file, name] : cases) {
    for (const bool valid : {false, true}) {
      const Outcome outcome = run_zhuyi(
          {"train", "--train", valid ? train_ : file, "--valid", valid ? file : valid_, "-o", run_, "--steps", "1"});
      EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr(name));
      EXPECT_FALSE(std::filesystem::exists(run_));
    }
  }
  const Outcome outcome = run_zhuyi(command({"--tokenizer", folder_.write("zeros.model", std::string(1000, '\0'))}));
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("zeros.model"));
}

TEST_F(TrainCommand, OtherOptionsForARunAreRefusedAndTheRunGoesOn) {
  ASSERT_EQ(run_zhuyi(command({"--steps", "3"})).exit_code, 0);
  const std::string checkpoint = content_of(in_run("checkpoint.safetensors"));
  const std::string config = content_of(in_run("config.toml"));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--d-model", "32"}, "d-model 16, now 32"},
      {{"--learning-rate", "0.5"}, "learning-rate 0.002, now 0.5"},
      {{"--train", valid_}, "other texts (training pairs 100, now 10"},
      {{"--vocabulary", "300"}, "--vocabulary"},
  };
  for (const auto& [options, message] : cases) {
    const Outcome refused = run_zhuyi(std::vector<std::string>{"train", "-o", run_, "--steps", "6"} + options);
    EXPECT_EQ(refused.exit_code, 4) << options[0];
    EXPECT_THAT(refused.err, AllOf(HasSubstr(message), HasSubstr("another directory")));
    EXPECT_EQ(content_of(in_run("checkpoint.safetensors")), checkpoint);
    EXPECT_EQ(content_of(in_run("config.toml")), config) << options[0];
  }
  const Outcome continued = run_zhuyi({"train", "-o", run_, "--steps", "6"});
  EXPECT_EQ(continued.exit_code, 0) << continued.err;
  EXPECT_THAT(continued.err, HasSubstr("done after 6 steps"));
}

// The option says auto again, and the products stay in f32; memory is another, and is refused.
TEST_F(TrainCommand, ARunKeepsItsPrecisionAndItsMemory) {
  const Outcome first = run_zhuyi(command({"--steps", "2", "--precision", "f32", "--memory", "2G"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("products in f32"));
  EXPECT_THAT(content_of(in_run("config.toml")), AllOf(HasSubstr("precision = 'f32'"), HasSubstr("memory = '2G'")));
  const Outcome second = run_zhuyi({"train", "-o", run_, "--steps", "4", "--precision", "auto"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("products in f32"));
  const Outcome third = run_zhuyi({"train", "-o", run_, "--steps", "6", "--memory", "3G"});
  EXPECT_EQ(third.exit_code, 4);
  EXPECT_THAT(third.err, HasSubstr("memory 2147483648, now 3221225472"));
  EXPECT_EQ(run_zhuyi({"train", "-o", run_, "--steps", "6"}).exit_code, 0);
}

}  // namespace
}  // namespace zhuyi::testing
