// zhuyi corpus from outside: what it writes, what it reports, and that errors destroy nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/program.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CorpusCommand : public ::testing::Test {
 protected:
  Outcome corpus(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words = {"corpus", "-o", out_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run_zhuyi(words);
  }
  // The command fails with this code, its message holds this, and what stood in the output stays.
  void expect_failure(int code, const std::string& message, const std::vector<std::string>& arguments) const {
    folder_.write("out.tsv", "old\n");
    const Outcome outcome = corpus(arguments);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(content_of(out_), "old\n");
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      EXPECT_NE(entry.path().extension(), ".part");
    }
  }

  TemporaryFolder folder_;
  std::string out_ = folder_.file("out.tsv");
  std::string english_ = folder_.write("a.en", "Open the file.\nClose it.\n\nClose it.\nsame\n");
  std::string chinese_ = folder_.write("a.zh", "打开文件。\n关闭。\n空\n关闭。\nsame\n");
};

TEST_F(CorpusCommand, WritesCleanPairsAndSaysWhatItDropped) {
  const Outcome outcome = corpus({"pairs:" + english_ + "," + chinese_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(content_of(out_), "Open the file.\t打开文件。\ta.en#1\nClose it.\t关闭。\ta.en#1\n");
  EXPECT_EQ(outcome.out, out_ + "\n");
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("5  pairs read"), HasSubstr("-1  dropped: "), HasSubstr("2  kept, in 1 documents")));
}

TEST_F(CorpusCommand, TwoSourcesAndHeldOutDocuments) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    text += "Line number " + number + "\t第" + number + "行\tdoc" + std::to_string(i / 10) + "\n";
  }
  const std::string tsv = folder_.write("b.tsv", text);
  const Outcome outcome = corpus({"tsv:" + tsv, "pairs:" + english_ + "," + chinese_, "--hold-out",
                                  "valid=10%,test=20%", "--hold-out-documents", "^doc", "--per-source"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto lines = [](const std::string& bytes) { return std::count(bytes.begin(), bytes.end(), '\n'); };
  EXPECT_EQ(lines(content_of(out_)), 72);  // 102 pairs: 20 % are two documents of 10, 10 % one
  EXPECT_EQ(lines(content_of(folder_.file("out.valid.tsv"))), 10);
  EXPECT_EQ(lines(content_of(folder_.file("out.test.tsv"))), 20);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("tsv:" + tsv), HasSubstr("72  pairs in " + out_)));
  EXPECT_EQ(outcome.out, out_ + "\n" + folder_.file("out.valid.tsv") + "\n" + folder_.file("out.test.tsv") + "\n");
}

TEST_F(CorpusCommand, BadInputIsNamedAndTheOldFileStays) {
  expect_failure(3, "missing.en", {"pairs:" + folder_.file("missing.en") + "," + chinese_});
  expect_failure(3, "missing.tsv", {"tsv:" + folder_.file("missing.tsv")});
  expect_failure(3, "missing.mo", {"mo:" + folder_.file("missing.mo")});
  expect_failure(3, "nowhere", {"html:" + folder_.file("nowhere") + "," + folder_.file("nowhere2")});
  // One side shorter than the other: half a file.
  expect_failure(3, "half.zh", {"pairs:" + english_ + "," + folder_.write("half.zh", "打开文件。\n关")});
  expect_failure(3, "line 2", {"tsv:" + folder_.write("half.tsv", "Open.\t打开。\nClose")});
  expect_failure(3, "zeros.tsv", {"tsv:" + folder_.write("zeros.tsv", std::string(500, '\0'))});
  expect_failure(3, "zeros.mo", {"mo:" + folder_.write("zeros.mo", std::string(500, '\0'))});
  expect_failure(3, "empty.tsv", {"tsv:" + folder_.write("empty.tsv", "")});
  expect_failure(3, "half.gz", {"tsv:" + folder_.write("half.gz", "\x1f\x8b\x08")});
}

TEST_F(CorpusCommand, ZeroesInTextAreDroppedAndNothingLeftIsAnError) {
  const std::string zeros = folder_.write("zeros.en", std::string(50, '\0') + "\n");
  const std::string text = folder_.write("text.zh", "打开\n");
  expect_failure(3, "nothing", {"pairs:" + zeros + "," + text});
}

TEST_F(CorpusCommand, LanguagesInTheWrongOrderAreNoticed) {
  expect_failure(3, "swap the two languages", {"pairs:" + chinese_ + "," + english_});
}

TEST_F(CorpusCommand, WrongUsage) {
  expect_failure(2, "odt", {"odt:" + english_});
  expect_failure(2, "two with a comma", {"pairs:" + english_});
  expect_failure(2, "--max-ratio", {"tsv:" + english_, "--max-ratio", "wide"});
  expect_failure(2, "split", {"pairs:" + english_ + "," + chinese_, "--hold-out", "valid=half"});
  expect_failure(2, "did you mean --hold-out?", {"pairs:" + english_ + "," + chinese_, "--hold-otu", "valid=2%"});
  expect_failure(2, "(",
                 {"pairs:" + english_ + "," + chinese_, "--hold-out", "valid=20%", "--hold-out-documents", "("});
  const Outcome outcome = run_zhuyi({"corpus", "pairs:" + english_ + "," + chinese_});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--output"));
}

// The device is reached through a link, so that a program which replaces it replaces the link alone.
TEST_F(CorpusCommand, AFullDiskAndFilesThatCannotBeWritten) {
  const std::string source = "pairs:" + english_ + "," + chinese_;
  std::filesystem::create_symlink("/dev/full", folder_.path() / "full.tsv");
  out_ = folder_.file("full.tsv");
  Outcome outcome = corpus({source});
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("full.tsv"));
  EXPECT_TRUE(std::filesystem::is_symlink(out_));
  out_ = folder_.file("missing/out.tsv");
  EXPECT_EQ(corpus({source}).exit_code, 5);
  out_ = "/proc/out.tsv";
  EXPECT_EQ(corpus({source}).exit_code, 5);
  std::filesystem::create_directory(folder_.path() / "taken");
  out_ = folder_.file("taken");
  EXPECT_EQ(corpus({source}).exit_code, 5);
  EXPECT_TRUE(std::filesystem::is_directory(out_));
}

TEST_F(CorpusCommand, WritesToADeviceWithoutReplacingIt) {
  std::filesystem::create_symlink("/dev/null", folder_.path() / "null.tsv");
  out_ = folder_.file("null.tsv");
  const Outcome outcome = corpus({"pairs:" + english_ + "," + chinese_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_symlink(out_));
}

}  // namespace
}  // namespace zhuyi::testing
