// zhuyi translate and zhuyi score from outside: lines in, lines out, and what they do with what is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/translate_command.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(TranslateCommand, GivesALineForEveryLine) {
  using namespace std::string_literals;
  EXPECT_EQ(translate("").out, "");
  for (const std::string& two : {"The file\nis open."s, "The file\nis open.\n"s, "The file\r\nis open.\r\n"s}) {
    const Outcome outcome = translate(two);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, translate("The file\nis open.\n").out);
    EXPECT_EQ(lines_of(outcome.out).size(), 2u);
    EXPECT_TRUE(outcome.out.ends_with("\n"));
  }
  const std::vector<std::string> blank = lines_of(translate("The file\n\n").out);
  ASSERT_EQ(blank.size(), 2u);
  EXPECT_EQ(blank[1], "");
  EXPECT_EQ(lines_of(translate("\n \n\t\n\u3000\n").out), (std::vector<std::string>{"", "", "", ""}));
  const Outcome odd = translate("nul \0 byte\nbad \xFF\xE4\xB8\nlone\rreturn\nU+2028\u2028here\nThe file is open.\n"s);
  EXPECT_EQ(odd.exit_code, 0) << odd.err;
  const std::vector<std::string> lines = lines_of(odd.out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[4] + "\n", translate("The file is open.\n").out);
  EXPECT_EQ(translate("\uFEFFThe file\n").out, translate("The file\n").out) << "a byte order mark at the beginning";
}

TEST_F(TranslateCommand, TheAnswerIsTheSameInAnyBatchFromAFileAndLineByLine) {
  std::string text;
  for (const std::string& line : infer::training_lines()) text += line + "\n";
  const std::string expected = translate(text).out;
  EXPECT_EQ(translate(text, {"--batch", "1", "--threads", "1"}).out, expected);
  EXPECT_EQ(translate(text, {"--batch", "7", "--threads", "2"}).out, expected);
  EXPECT_EQ(translate(text, {"--line"}).out, expected);
  EXPECT_EQ(translate("", {folder().write("text", text)}).out, expected);
  const Outcome to_file = translate(text, {"-o", folder().file("out")});
  EXPECT_EQ(to_file.out, folder().file("out") + "\n");
  EXPECT_EQ(content_of(folder().file("out")), expected);
}

TEST_F(TranslateCommand, NBestLinesNumberTheirLineAndFallInScore) {
  const Outcome outcome = translate("The file is open.\n\nSave it!\n", {"--n-best", "3", "--beam", "4"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<std::string> lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[3], "1 |||  ||| 0.000000");
  const std::vector<std::string> single = lines_of(translate("The file is open.\n\nSave it!\n").out);
  EXPECT_THAT(lines[0], ::testing::StartsWith("0 ||| " + single[0] + " ||| -"));
  EXPECT_THAT(lines[4], ::testing::StartsWith("2 ||| " + single[2] + " ||| -"));
  EXPECT_EQ(translate("a\n", {"--n-best", "5"}).exit_code, 2);
}

TEST_F(TranslateCommand, ScoreGivesTheSumOfItsPieces) {
  const std::string source = "The file is open.";
  const std::vector<std::string> scored =
      lines_of(translate(source + "\n\n", {"--score", "--length-penalty", "none"}).out);
  ASSERT_EQ(scored.size(), 2u);
  EXPECT_EQ(scored[1], "0.000000\t");
  const std::size_t tab = scored[0].find('\t');
  ASSERT_NE(tab, std::string::npos);
  const std::string pairs = folder().write("pairs.tsv", source + "\t" + scored[0].substr(tab + 1) + "\n");
  const Outcome outcome = run_zhuyi({"score", "-m", model(), pairs, "--per-token"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  // The sum of the tokens' numbers is the first number.
  const std::string line = lines_of(outcome.out).at(0);
  double sum = 0;
  for (std::size_t position = line.find('\t'); position != std::string::npos; position = line.find(' ', position + 1)) {
    sum += std::stod(line.substr(position + 1));
  }
  EXPECT_NEAR(sum, std::stod(line), 1e-4);
  EXPECT_LT(sum, 0);
}

TEST_F(TranslateCommand, LongSentencesAreCutAndThatIsSaidOnce) {
  std::string line;
  for (int i = 0; i < 30; ++i) line += "close the file " + std::to_string(i) + " ";
  const Outcome outcome = translate("short\n" + line + "\n" + line + "\n", {"--max-source-tokens", "32"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(lines_of(outcome.out).size(), 3u);
  const auto cut = [](const std::string& text) { return text.find("longer than 32 pieces") != std::string::npos; };
  const std::vector<std::string> messages = lines_of(outcome.err);
  EXPECT_EQ(std::count_if(messages.begin(), messages.end(), cut), 1);
  EXPECT_THAT(outcome.err, HasSubstr("line 2 has a sentence longer than 32 pieces"));
  const Outcome whole = translate(line + "\n", {"--max-source-tokens", "32", "--no-split"});
  EXPECT_THAT(whole.err, Not(HasSubstr("longer than")));
}

TEST_F(TranslateCommand, DrawsTheAttentionOfTheFirstSentence) {
  const std::string picture = folder().file("attention.html");
  const Outcome outcome = translate("\nThe file is <open>.\nSave it!\n", {"--attention", picture});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(content_of(picture), AllOf(HasSubstr("<h1>The file is &lt;open&gt;.</h1>"), HasSubstr("layer 2"),
                                         HasSubstr("<svg"), Not(HasSubstr("Save"))));
  EXPECT_THAT(translate("\n", {"--attention", folder().file("none.html")}).err, HasSubstr("was not written"));
}

TEST_F(TranslateCommand, RefusesModelsThatAreNone) {
  const std::string whole = content_of(model());
  const auto refused = [&](const std::string& name, int code, const std::string& message) {
    const Outcome outcome = run_zhuyi({"translate", "-m", name}, "The file\n");
    EXPECT_EQ(outcome.exit_code, code) << name;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, AllOf(::testing::StartsWith("zhuyi: "), HasSubstr(message)));
  };
  refused(folder().file("missing"), 3, "missing");
  refused(folder().write("half", whole.substr(0, whole.size() / 2)), 4, "half");
  refused(folder().write("zeros", std::string(whole.size(), '\0')), 4, "zeros");
  refused(folder().write("empty", ""), 4, "empty");
  refused(folder().path().string(), 4, "not a regular file");
  EXPECT_EQ(run_zhuyi({"translate"}, "The file\n").exit_code, 2);
}

TEST_F(TranslateCommand, NamesWrongFilesOptionsAndKeys) {
  const Outcome file = translate("", {folder().file("missing.txt")});
  EXPECT_EQ(file.exit_code, 3);
  EXPECT_THAT(file.err, HasSubstr("missing.txt"));
  EXPECT_EQ(translate("", {folder().path().string()}).exit_code, 3);
  const Outcome option = translate("a\n", {"--beem", "2"});
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_THAT(option.err, AllOf(HasSubstr("--beem"), HasSubstr("did you mean --beam?")));
  EXPECT_EQ(translate("a\n", {"--beam", "0"}).exit_code, 2);
  EXPECT_EQ(translate("a\n", {"--length-penalty", "long"}).exit_code, 2);
  const Outcome key = translate("a\n", {"--config", folder().write("bad.toml", "[translate]\nbeem = 2\n")});
  EXPECT_EQ(key.exit_code, 2);
  EXPECT_THAT(key.err, AllOf(HasSubstr("beem"), HasSubstr("--beam")));
}

TEST_F(TranslateCommand, TakesItsOptionsFromAFile) {
  const std::string config = folder().write("good.toml", "[translate]\nn-best = 2\nlength-penalty = \"power\"\n");
  const Outcome outcome = translate("The file is open.\n", {"--config", config});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, translate("The file is open.\n", {"--n-best", "2", "--length-penalty", "power"}).out);
}

TEST_F(TranslateCommand, FailsWhereNothingCanBeWritten) {
  const Outcome full = shell("echo 'The file' | $ZHUYI translate -m $MODEL > /dev/full");
  EXPECT_EQ(full.exit_code, 5);
  EXPECT_THAT(full.err, HasSubstr("cannot write to standard output"));
  const Outcome scored = shell("printf 'a\\tb\\n' > " + folder().file("p.tsv") + "; $ZHUYI score -m $MODEL " +
                               folder().file("p.tsv") + " > /dev/full");
  EXPECT_EQ(scored.exit_code, 5);
  const std::string nowhere = folder().file("no/such/folder/out");
  const Outcome folderless = translate("The file\n", {"-o", nowhere});
  EXPECT_EQ(folderless.exit_code, 5);
  EXPECT_THAT(folderless.err, HasSubstr(nowhere));
}

TEST_F(TranslateCommand, LeavesAnOldOutputAloneWhenItFails) {
  const std::string out = folder().write("old", "old text\n");
  EXPECT_EQ(translate("a\n", {"-o", out, folder().file("missing.txt")}).exit_code, 3);
  EXPECT_EQ(content_of(out), "old text\n");
}

TEST_F(TranslateCommand, AnInterruptEndsItAfterWholeLines) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "Close the file and save it.\n";
  RunningProgram program(ZHUYI_PROGRAM, {"translate", "-m", model(), "--batch", "2"}, text);
  while (program.out().empty()) {
  }
  program.send(SIGINT);
  const Outcome outcome = program.wait();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_TRUE(outcome.out.ends_with("\n"));
  const auto lines = std::count(outcome.out.begin(), outcome.out.end(), '\n');
  EXPECT_THAT(outcome.err, HasSubstr("interrupted: " + std::to_string(lines) + " lines were translated"));
  EXPECT_LT(lines, 20000);
}

TEST_F(TranslateCommand, ScoreNamesTheLineThatIsWrong) {
  const auto score = [&](const std::string& pairs) {
    return run_zhuyi({"score", "-m", model(), folder().write("wrong.tsv", pairs)});
  };
  const Outcome columns = score("a\tb\nno tab\n");
  EXPECT_EQ(columns.exit_code, 3);
  EXPECT_THAT(columns.err, HasSubstr("line 2"));
  std::string long_line;
  for (int i = 0; i < 5000; ++i) long_line += "字";
  const Outcome too_long = score("a\tb\na\tb\n" + long_line + "\tb\n");
  EXPECT_EQ(too_long.exit_code, 3);
  EXPECT_THAT(too_long.err, AllOf(HasSubstr("wrong.tsv"), HasSubstr("line 3: the source has")));
  EXPECT_EQ(run_zhuyi({"score", "-m", model(), folder().file("none.tsv")}).exit_code, 3);
}

TEST_F(TranslateCommand, ScoresDoNotDependOnTheBatch) {
  std::string pairs;
  for (const std::string& line : infer::training_lines()) pairs += line + "\t打开文件\tdocument\n";
  const std::string file = folder().write("many.tsv", pairs);
  const std::string expected = run_zhuyi({"score", "-m", model(), file}).out;
  EXPECT_EQ(lines_of(expected).size(), infer::training_lines().size());
  EXPECT_EQ(run_zhuyi({"score", "-m", model(), file, "--batch", "1", "--threads", "1"}).out, expected);
  EXPECT_NE(run_zhuyi({"score", "-m", model(), file, "--normalized"}).out, expected);
}

}  // namespace
}  // namespace zhuyi::testing
