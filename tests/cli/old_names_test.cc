// Names of commands and options that were changed: the old ones work as before, say so, and stand in no help.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/program.h"
#include "infer/small_translator.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(OldNames, FreezeIsQuantize) {
  const TemporaryFolder folder;
  const std::string full = folder.file("model");
  formats::save_model(full, infer::small_model());
  ASSERT_EQ(run_zhuyi({"quantize", full, "-o", folder.file("now"), "--precision", "bf16"}).exit_code, 0);
  const Outcome before = run_zhuyi({"freeze", full, "-o", folder.file("before"), "--precision", "bf16"});
  EXPECT_EQ(before.exit_code, 0);
  EXPECT_EQ(before.out, folder.file("before") + "\n");
  EXPECT_EQ(before.err, "zhuyi: 'freeze' is called 'quantize' now; the old name works until the next version\n");
  EXPECT_EQ(content_of(folder.file("before")), content_of(folder.file("now")));
  EXPECT_EQ(run_zhuyi({"freeze", "--help"}).out, run_zhuyi({"quantize", "--help"}).out);
  EXPECT_THAT(run_zhuyi({"--help"}).out, AllOf(HasSubstr("quantize"), Not(HasSubstr("freeze"))));
}

TEST(OldNames, TablesOfConfigurationFilesKeepThem) {
  const TemporaryFolder folder;
  const std::string full = folder.file("model");
  formats::save_model(full, infer::small_model());
  const std::string file = folder.write("options.toml", "[freeze]\nprecision = \"bf16\"\n[tokenizer]\nsize = 9\n");
  ASSERT_EQ(run_zhuyi({"quantize", full, "-o", folder.file("bf16"), "--precision", "bf16"}).exit_code, 0);
  const Outcome outcome = run_zhuyi({"quantize", full, "-o", folder.file("same"), "--config", file});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(content_of(folder.file("same")), content_of(folder.file("bf16")));
}

TEST(OldNames, OptionsOfTheTokenizer) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "open the file number " + std::to_string(i) + "\n";
  const std::string input = folder.write("text", text);
  const std::string now = folder.file("now");
  const std::string before = folder.file("before");
  const std::string configured = folder.file("configured");
  const std::vector<std::string> train = {"tokenizer", "train", "-i", input};
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = train;
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_zhuyi(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome;
  };
  run({"-o", now, "--vocabulary", "300", "--vocabulary-is-limit", "--tokenizer-type", "bpe", "--threads", "2"});
  const Outcome old = run({"-o", before, "--size=300", "--size-is-limit", "--type", "bpe", "--training-threads", "2"});
  EXPECT_EQ(content_of(before), content_of(now));
  for (const char* change : {"--size is called --vocabulary now", "--size-is-limit is called --vocabulary-is-limit now",
                             "--type is called --tokenizer-type now", "--training-threads is called --threads now"}) {
    EXPECT_THAT(old.err, HasSubstr(change));
  }
  const std::string file = folder.write("old.toml", "size = 300\nsize_is_limit = true\n[tokenizer]\ntype = \"bpe\"\n");
  run({"-o", configured, "--config", file, "--threads", "2"});
  EXPECT_EQ(content_of(configured), content_of(now));
  EXPECT_THAT(run_zhuyi({"tokenizer", "--help"}).out, AllOf(Not(HasSubstr("--size")), Not(HasSubstr("--type"))));
}

TEST(OldNames, OptionsOfTheCorpus) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "Line " + std::to_string(i) + "\t行" + std::to_string(i) + "\tdoc" + std::to_string(i / 10) + "\n";
  }
  text += "A line that is too long\t太长\tdoc0\n";
  const std::string source = "tsv:" + folder.write("text.tsv", text);
  const Outcome now = run_zhuyi({"corpus", source, "-o", folder.file("now.tsv"), "--max-characters", "10", "--hold-out",
                                 "valid=20%", "--hold-out-documents", "doc[12]"});
  EXPECT_EQ(now.exit_code, 0) << now.err;
  const Outcome before = run_zhuyi({"corpus", source, "-o", folder.file("before.tsv"), "--max-length", "10", "--split",
                                    "valid=20%", "--split-documents", "doc[12]"});
  EXPECT_EQ(before.exit_code, 0) << before.err;
  for (const char* name : {".tsv", ".valid.tsv"}) {
    EXPECT_EQ(content_of(folder.file(std::string("before") + name)),
              content_of(folder.file(std::string("now") + name)));
  }
  EXPECT_THAT(content_of(folder.file("before.valid.tsv")), HasSubstr("doc"));
  EXPECT_THAT(content_of(folder.file("before.tsv")), Not(HasSubstr("too long")));
  EXPECT_THAT(before.err, AllOf(HasSubstr("--max-length is called --max-characters now"),
                                HasSubstr("--split is called --hold-out now"),
                                HasSubstr("--split-documents is called --hold-out-documents now")));
}

}  // namespace
}  // namespace zhuyi::testing
