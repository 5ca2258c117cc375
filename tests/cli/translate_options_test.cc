// The options of zhuyi translate from outside: each reaches the translation, and what goes on with --resume is the
// same.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/translate_command.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(TranslateCommand, ResumeGoesOnAfterTheWholeLines) {
  std::string text;
  for (const std::string& line : infer::training_lines()) text += line + "\n";
  const std::string expected = translate(text).out;
  const std::string out = folder().write("grows", expected.substr(0, expected.size() / 2));  // ends inside a line
  const Outcome resumed = translate(text, {"-o", out, "--resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(content_of(out), expected);
  EXPECT_EQ(translate(text, {"-o", out, "--resume"}).exit_code, 0);
  EXPECT_EQ(content_of(out), expected) << "nothing was left to do";
  EXPECT_EQ(translate(text, {"-o", folder().file("new"), "--resume"}).exit_code, 0);
  EXPECT_EQ(content_of(folder().file("new")), expected);
  const Outcome other = translate("one line\n", {"-o", out, "--resume"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("more than the text"));
  EXPECT_EQ(content_of(out), expected);
  EXPECT_EQ(translate(text, {"--resume"}).exit_code, 2);
  EXPECT_EQ(translate(text, {"-o", out, "--resume", "--n-best", "2"}).exit_code, 2);
}

TEST_F(TranslateCommand, AnInterruptedFileIsResumedToTheSameText) {
  std::string text;
  for (int i = 0; i < 700; ++i) text += "Close the file and save it, number " + std::to_string(i % 50) + "\n";
  const std::string source = folder().write("long.txt", text);
  const std::vector<std::string> command = {
      "translate", "-m",          model(), source,   "-o", folder().file("long.out"),
      "--resume",  "--batch",     "2",     "--beam", "1",  "--max-length-extra",
      "2",         "--no-protect"};
  RunningProgram program(ZHUYI_PROGRAM, command, "");
  while (!std::filesystem::exists(folder().file("long.out")) || content_of(folder().file("long.out")).empty()) {
  }
  program.send(SIGINT);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.exit_code, 130);
  const std::string part = content_of(folder().file("long.out"));
  EXPECT_TRUE(part.ends_with("\n"));
  EXPECT_THAT(stopped.err, HasSubstr("interrupted: " + std::to_string(std::count(part.begin(), part.end(), '\n')) +
                                     " lines were translated and written"));
  EXPECT_EQ(run_zhuyi(command).exit_code, 0);
  std::vector<std::string> whole = command;
  whole.erase(std::find(whole.begin(), whole.end(), "--resume"));
  *std::find(whole.begin(), whole.end(), folder().file("long.out")) = folder().file("whole.out");
  EXPECT_EQ(run_zhuyi(whole).exit_code, 0);
  EXPECT_EQ(content_of(folder().file("long.out")), content_of(folder().file("whole.out")));
}

TEST_F(TranslateCommand, JsonHoldsTheTranslationAndWhatWasAskedFor) {
  const std::string source = "Close \"the\" file.";
  const Outcome outcome = translate(source + "\n\n", {"--format", "json", "--n-best", "2", "--word-scores",
                                                      "--alignment", "hard", "--timing", "--no-protect"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<std::string> lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 2u);
  const nlohmann::json json = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(json["line"], 0);
  EXPECT_EQ(json["source"], source);
  EXPECT_EQ(json["text"].get<std::string>() + "\n", translate(source + "\n", {"--no-protect"}).out);
  EXPECT_EQ(json["n_best"].size(), 2u);
  EXPECT_EQ(json["n_best"][0]["text"], json["text"]);
  double sum = json["end_log_probability"];
  for (const auto& word : json["words"]) sum += word["log_probability"].get<double>();
  EXPECT_NEAR(sum, json["log_probability"].get<double>(), 1e-4);
  EXPECT_GT(json["alignment"].size(), 0u);
  for (const auto& pair : json["alignment"]) EXPECT_LT(pair[0].get<std::size_t>(), json["source_pieces"].size());
  EXPECT_GE(json["seconds"].get<double>(), 0);
  const nlohmann::json blank = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(blank["text"], "");
  EXPECT_EQ(blank["score"], 0);
  EXPECT_EQ(blank["parts"], 0);
  const nlohmann::json soft =
      nlohmann::json::parse(lines_of(translate(source + "\n", {"--format", "json", "--alignment", "soft"}).out).at(0));
  double row = 0;
  for (const auto& weight : soft["attention"][0]) row += weight.get<double>();
  EXPECT_NEAR(row, 1, 1e-4);
}

TEST_F(TranslateCommand, EveryAlternativeHasTheScoreOfItsPieces) {
  const std::string ending = folder().file("ending.safetensors");  // its random numbers let sentences end early
  formats::save_model(ending, infer::small_model(0, 17));
  std::string text;
  for (const std::string& line : infer::training_lines()) text += line + "\n";
  std::string pairs;
  std::vector<double> totals;
  const std::vector<std::string> arguments = {
      "translate", "-m",         ending,         "--format",         "json", "--n-best", "40", "--beam",
      "40",        "--no-split", "--no-protect", "--length-penalty", "none"};
  for (const std::string& line : lines_of(run_zhuyi(arguments, text).out)) {
    const nlohmann::json json = nlohmann::json::parse(line);
    for (const auto& alternative : json["n_best"]) {
      if (!alternative["finished"].get<bool>() || alternative["pieces"].empty()) continue;
      pairs += json["source"].get<std::string>() + "\t";
      for (const auto& piece : alternative["pieces"]) pairs += piece.get<std::string>() + " ";
      pairs += "\n";
      totals.push_back(alternative["log_probability"]);
    }
  }
  const Outcome outcome = run_zhuyi({"score", "-m", ending, folder().write("n-best.tsv", pairs), "--pieces"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::vector<std::string> scores = lines_of(outcome.out);
  ASSERT_EQ(scores.size(), totals.size());
  EXPECT_GE(totals.size(), 3u);
  for (std::size_t i = 0; i < totals.size(); ++i) EXPECT_NEAR(std::stod(scores[i]), totals[i], 1e-4);
  EXPECT_EQ(run_zhuyi({"score", "-m", ending, folder().write("no.tsv", "a\tqqqq\n"), "--pieces"}).exit_code, 3);
}

TEST_F(TranslateCommand, TabSeparatedLinesCanBeScored) {
  const Outcome outcome = translate("Close\tthe file\n\n", {"--format", "tsv"});
  const std::vector<std::string> lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(std::count(lines[0].begin(), lines[0].end(), '\t'), 2);
  EXPECT_THAT(lines[0], ::testing::StartsWith("Close the file\t"));
  EXPECT_EQ(lines[1], "\t\t0.000000");
  EXPECT_EQ(lines_of(translate("Save it\n", {"--format", "tsv", "--n-best", "3"}).out).size(), 3u);
}

TEST_F(TranslateCommand, PrefixesPhrasesGlossaryAndBans) {
  const auto text_with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--max-length-extra", "30"});
    arguments.insert(arguments.begin(), {"translate", "-m", model()});
    return lines_of(run_zhuyi(arguments, "Close the file.\nSave it!\n").out);
  };
  for (const std::string& line : text_with({"--prefix", "请"})) EXPECT_THAT(line, ::testing::StartsWith("请"));
  const std::vector<std::string> each = text_with({"--prefixes", folder().write("prefixes", "文件\nThe\n")});
  EXPECT_THAT(each.at(0), ::testing::StartsWith("文件"));
  EXPECT_THAT(each.at(1), ::testing::StartsWith("The"));
  const std::vector<std::string> phrases = text_with({"--phrases", folder().write("phrases", "窗口|窗户\t页\n\n")});
  EXPECT_THAT(phrases.at(0), HasSubstr("页"));
  EXPECT_THAT(phrases.at(0), ::testing::AnyOf(HasSubstr("窗口"), HasSubstr("窗户")));
  EXPECT_THAT(text_with({"--glossary", folder().write("glossary", "file\t文件\n")}).at(0), HasSubstr("文件"));
  EXPECT_EQ(translate("a\nb\n", {"--prefixes", folder().write("short", "x\n")}).exit_code, 3);
  EXPECT_EQ(translate("a\n", {"--glossary", folder().write("wrong", "no tab\n")}).exit_code, 3);
  EXPECT_EQ(translate("a\n", {"--ban", ""}).exit_code, 2);
  EXPECT_EQ(translate("a\n", {"--prefix", "x", "--prefixes", folder().file("short")}).exit_code, 2);
}

TEST_F(TranslateCommand, PlaceholdersStayUnlessSaidOtherwise) {
  const std::string line = "Open %1$s and {0} at https://a.b/c?d=e now";
  const std::string found = translate(line + "\n").out;
  for (const char* part : {"%1$s", "{0}", "https://a.b/c?d=e"}) EXPECT_THAT(found, HasSubstr(part));
  EXPECT_THAT(translate(line + "\n", {"--no-protect"}).out, Not(HasSubstr("https://a.b/c?d=e")));
}

TEST_F(TranslateCommand, Ensembles) {
  const std::string alone = translate("Close the file\n", {"--score"}).out;
  const Outcome twice = translate("Close the file\n", {"-m", model(), "--weights", "1,2", "--score"});
  EXPECT_EQ(twice.exit_code, 0) << twice.err;
  EXPECT_NEAR(std::stod(twice.out), std::stod(alone), 1e-4);
  EXPECT_EQ(translate("a\n", {"--weights", "1,2"}).exit_code, 2);
}

TEST_F(TranslateCommand, RescoringAddsWhatZhuyiScoreSays) {
  const std::string other = folder().file("other.safetensors");
  formats::save_model(other, infer::small_model(0, 5));
  const std::vector<std::string> found = lines_of(translate("Close the file\n", {"--n-best", "4"}).out);
  ASSERT_EQ(found.size(), 4u);
  // "0 ||| text ||| score", and what the other model says of each text.
  std::map<std::string, double> expected;
  std::string pairs;
  for (const std::string& line : found) {
    const std::string text = line.substr(6, line.rfind(" ||| ") - 6);
    expected[text] = std::stod(line.substr(line.rfind(" ||| ") + 5));
    pairs += "Close the file\t" + text + "\n";
  }
  const Outcome judged = run_zhuyi({"score", "-m", other, "--normalized", folder().write("rescored.tsv", pairs)});
  const std::vector<std::string> scores = lines_of(judged.out);
  ASSERT_EQ(scores.size(), 4u) << judged.err;
  for (std::size_t i = 0; i < 4; ++i) {
    expected[found[i].substr(6, found[i].rfind(" ||| ") - 6)] += 0.75 * std::stod(scores[i]);
  }
  const Outcome rescored =
      translate("Close the file\n", {"--n-best", "4", "--rescore", other, "--rescore-weight", "0.75"});
  const std::vector<std::string> lines = lines_of(rescored.out);
  ASSERT_EQ(lines.size(), 4u) << rescored.err;
  for (const std::string& line : lines) {
    const std::string text = line.substr(6, line.rfind(" ||| ") - 6);
    ASSERT_THAT(expected, ::testing::Contains(::testing::Key(text)));
    EXPECT_NEAR(std::stod(line.substr(line.rfind(" ||| ") + 5)), expected[text], 1e-5) << text;
  }
  EXPECT_EQ(translate("a\n", {"--rescore", folder().file("missing")}).exit_code, 3);
}

TEST_F(TranslateCommand, OptionsOfTheSearchReachIt) {
  const std::string line = "Close the file and save it\n";
  EXPECT_EQ(translate(line, {"--sample", "--seed", "3"}).out, translate(line, {"--sample", "--seed", "3"}).out);
  EXPECT_NE(translate(line, {"--sample", "--seed", "3"}).out, translate(line, {"--sample", "--seed", "4"}).out);
  EXPECT_EQ(translate(line, {"--sample", "--top-k", "1"}).out, translate(line, {"--beam", "1"}).out);
  EXPECT_NE(translate(line, {"--min-length-factor", "1"}).out,
            translate(line, {"--min-length", "1", "--max-length", "2"}).out);
  EXPECT_EQ(lines_of(translate(line, {"--sample", "--n-best", "9"}).out).size(), 9u);
  EXPECT_EQ(translate(line, {"--temperature", "0"}).exit_code, 2);
  EXPECT_EQ(translate(line, {"--word-scores"}).exit_code, 2);
  EXPECT_EQ(translate(line, {"--alignment", "soft"}).exit_code, 2);
  EXPECT_THAT(translate(line, {"--alignment", "hard"}).out,
              ::testing::ContainsRegex(" [|][|][|] ([0-9]+-[0-9]+ )*[0-9]+-0 [0-9]+-1"));
}

TEST_F(TranslateCommand, AShortlistIsMadeAndUsed) {
  const std::string pairs = folder().write("train.tsv", "Close the file\t关闭文件\nSave it\t保存\n");
  const std::string list = folder().file("shortlist");
  const Outcome made = run_zhuyi({"shortlist", "-m", model(), pairs, "-o", list, "--best", "5"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, list + "\n");
  EXPECT_THAT(made.err, HasSubstr("from 2 pairs"));
  EXPECT_EQ(translate("Close the file\n", {"--shortlist", list}).exit_code, 0);
  EXPECT_EQ(translate("Close the file\n", {"--shortlist", folder().write("bad", "x")}).exit_code, 3);
  EXPECT_EQ(run_zhuyi({"shortlist", "-m", model(), pairs}).exit_code, 2);
}

// A terminal for standard error.
TEST_F(TranslateCommand, ShowsABarForFilesOnATerminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0 ||
      access(ptsname(terminal), R_OK | W_OK) != 0) {
    GTEST_SKIP() << "this system has no pseudo-terminals (a devpts mounted at /dev/pts): " << std::strerror(errno);
  }
  std::string text;
  for (int i = 0; i < 40; ++i) text += "Close the file\n";
  const std::string source = folder().write("bar.txt", text);
  const std::string name = ptsname(terminal);
  const Outcome outcome = shell("$ZHUYI translate -m $MODEL --batch 1 --threads 1 --max-length 3 " + source + " -o " +
                                folder().file("bar.out") + " 2> " + name);
  EXPECT_EQ(outcome.exit_code, 0);
  fcntl(terminal, F_SETFL, O_NONBLOCK);
  std::string shown;
  char block[4096];
  for (ssize_t count = read(terminal, block, sizeof block); count > 0; count = read(terminal, block, sizeof block)) {
    shown.append(block, static_cast<std::size_t>(count));
  }
  close(terminal);
  EXPECT_THAT(
      shown, AllOf(HasSubstr("40 %  16 lines"), HasSubstr("100 %  40 lines"), HasSubstr("words/s"), HasSubstr("left")));
  EXPECT_THAT(translate("", {source}).err, Not(HasSubstr("words/s"))) << "no terminal, no bar";
}

}  // namespace
}  // namespace zhuyi::testing
