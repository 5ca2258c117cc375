// zhuyi tokenizer from outside: exact round trips, files and options, and that errors destroy nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/program.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class TokenizerCommand : public ::testing::Test {
 protected:
  // A model of this folder's text with at most 400 pieces.
  std::string trained(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {
        "tokenizer", "train", "-i", text_, "-o", folder_.file("pieces.model"), "-n", "400", "--vocabulary-is-limit"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_zhuyi(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, folder_.file("pieces.model") + "\n");
    EXPECT_THAT(outcome.err, HasSubstr(" pieces from 32 lines"));
    return folder_.file("pieces.model");
  }

  static std::string sentences() {
    std::string text;
    for (const char* verb : {"open", "close", "print", "delete"}) {
      for (const char* thing : {"the file", "every page", "a new table", "old letters"}) {
        text += std::string(verb) + " " + thing + " now\n请" + verb + "文件和表格\n";
      }
    }
    return text;
  }

  TemporaryFolder folder_;
  std::string text_ = folder_.write("text", sentences());
};

TEST_F(TokenizerCommand, EncodeAndDecodeGiveTheTextBack) {
  const std::string model = trained();
  const std::string text =
      sentences() + " space before\nspace behind \ntwo  spaces\n\n，（）：《》ＡＢ\n😀 naïve £5\n<s> <0x41>\n";
  for (const std::vector<std::string>& form : {std::vector<std::string>{}, std::vector<std::string>{"--ids"}}) {
    std::vector<std::string> encode = {"tokenizer", "encode", "-m", model};
    std::vector<std::string> decode = {"tokenizer", "decode", "-m", model};
    encode.insert(encode.end(), form.begin(), form.end());
    decode.insert(decode.end(), form.begin(), form.end());
    const Outcome encoded = run_zhuyi(encode, text);
    EXPECT_EQ(encoded.exit_code, 0) << encoded.err;
    EXPECT_EQ(std::count(encoded.out.begin(), encoded.out.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
    const Outcome decoded = run_zhuyi(decode, encoded.out);
    EXPECT_EQ(decoded.exit_code, 0) << decoded.err;
    EXPECT_EQ(decoded.out, text);
  }
  // From a file as from standard input; a last line without its end counts.
  const std::string file = folder_.write("in", "open the file\nclose");
  EXPECT_EQ(run_zhuyi({"tokenizer", "encode", file, "-m", model}).out,
            run_zhuyi({"tokenizer", "encode", "-m", model}, "open the file\nclose").out);
}

TEST_F(TokenizerCommand, TrainingIsTheSameEveryTime) {
  const std::string first = content_of(trained());
  EXPECT_EQ(content_of(trained()), first);
  EXPECT_NE(content_of(trained({"--tokenizer-type", "bpe"})), first);
}

TEST_F(TokenizerCommand, UserDefinedPiecesAreNeverSplit) {
  const std::string model = trained({"--user-defined", "<br>", "--user-defined", "qzxw"});
  const Outcome encoded = run_zhuyi({"tokenizer", "encode", "-m", model}, "open<br>qzxw\n");
  EXPECT_THAT(encoded.out, AllOf(HasSubstr(" <br> "), HasSubstr(" qzxw\n")));
}

TEST_F(TokenizerCommand, LearnsFromOneColumnOfPairs) {
  const std::string pairs = folder_.write("pairs.tsv", "open the file\t打开文件\nclose the file\t关闭文件\n");
  const std::string model = folder_.file("source.model");
  const Outcome outcome = run_zhuyi(
      {"tokenizer", "train", "-i", pairs, "-o", model, "--side", "source", "-n", "300", "--vocabulary-is-limit"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("from 2 lines"));
  const Outcome encoded = run_zhuyi({"tokenizer", "encode", "-m", model}, "文\n");
  EXPECT_THAT(encoded.out, HasSubstr("<0xE6> <0x96> <0x87>"));  // the bytes of U+6587, unknown to this side
}

TEST_F(TokenizerCommand, ErrorsOfTrainingKeepTheOldModel) {
  const std::string model = folder_.write("old.model", "old");
  const auto expect_failure = [&](int code, const std::string& message, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"tokenizer", "train", "-o", model};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_zhuyi(words);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(content_of(model), "old");
  };
  expect_failure(2, "--input", {});
  expect_failure(3, "missing", {"-i", folder_.file("missing")});
  expect_failure(3, folder_.path().string(), {"-i", folder_.path().string()});
  expect_failure(3, "half.tsv", {"-i", folder_.write("half.tsv", "Open.\t打开。\nClo")});
  expect_failure(2, "20000", {"-i", text_, "-n", "20000"});
  expect_failure(2, "vocabulary", {"-i", text_, "-n", "10"});
  expect_failure(2, "vocabulary", {"-i", text_, "-n", "many"});
  expect_failure(2, "words", {"-i", text_, "--tokenizer-type", "words"});
  expect_failure(2, "text", {"-i", folder_.write("blank", "\n \n")});
  expect_failure(2, "did you mean --character-coverage?", {"-i", text_, "--character-coverag", "1"});
  EXPECT_EQ(run_zhuyi({"tokenizer", "train", "-i", text_}).exit_code, 2);
  EXPECT_EQ(run_zhuyi({"tokenizer", "learn", "-i", text_}).exit_code, 2);
  EXPECT_EQ(run_zhuyi({"tokenizer"}).exit_code, 2);
}

TEST_F(TokenizerCommand, FilesThatCannotBeWritten) {
  std::filesystem::create_symlink("/dev/full", folder_.path() / "full");
  for (const std::string& path : {folder_.file("full"), folder_.file("missing/model"), std::string("/proc/model")}) {
    const Outcome outcome =
        run_zhuyi({"tokenizer", "train", "-i", text_, "-o", path, "-n", "400", "--vocabulary-is-limit"});
    EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(path));
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder_.path() / "full"));
}

TEST_F(TokenizerCommand, AModelThatIsNoneIsRefused) {
  const std::string good = content_of(trained());
  EXPECT_EQ(run_zhuyi({"tokenizer", "encode"}).exit_code, 2);
  EXPECT_EQ(run_zhuyi({"tokenizer", "encode", "-m", folder_.file("missing")}).exit_code, 3);
  for (const std::string& bytes :
       {std::string(), std::string(1000, '\0'), good.substr(0, good.size() / 2), sentences()}) {
    const Outcome outcome = run_zhuyi({"tokenizer", "encode", "-m", folder_.write("bad.model", bytes)}, "open\n");
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("bad.model"));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(TokenizerCommand, BadInputIsNamed) {
  const std::string model = trained();
  EXPECT_EQ(run_zhuyi({"tokenizer", "encode", folder_.file("missing"), "-m", model}).exit_code, 3);
  const Outcome outcome = run_zhuyi({"tokenizer", "decode", "--ids", "-m", model}, "5 6\n7 999999\n");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("line 2"), HasSubstr("999999")));
  EXPECT_EQ(run_zhuyi({"tokenizer", "decode", "--ids", "-m", model}, "five\n").exit_code, 3);
  // Bytes that are no UTF-8 and zeros neither crash nor join lines.
  const Outcome encoded = run_zhuyi({"tokenizer", "encode", "-m", model}, "a\xff\xfe\n" + std::string(20, '\0') + "\n");
  EXPECT_EQ(encoded.exit_code, 0) << encoded.err;
  EXPECT_EQ(std::count(encoded.out.begin(), encoded.out.end(), '\n'), 2);
}

}  // namespace
}  // namespace zhuyi::testing
