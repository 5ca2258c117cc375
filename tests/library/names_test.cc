// One name for one thing: the options of zhuyi translate beside those of the C interface, by asking both.

#include <gmock/gmock.h>
#include <zhuyi/zhuyi.h>

#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/help_text.h"
#include "library/library_model.h"
#include "running_program.h"

namespace zhuyi::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;

// What the program alone has, and why.
const std::map<std::string, std::string>& of_the_program() {
  static const std::map<std::string, std::string> reasons = {
      {"help", "of a program"},
      {"model", "zhuyi_load, zhuyi_load_ensemble"},
      {"weights", "zhuyi_load_ensemble"},
      {"output", "a result is read by zhuyi_result_..."},
      {"resume", "of --output"},
      {"line", "of a stream; a call has its lines"},
      {"prefixes", "of a file; a prefix for each line is one call with prefix each"},
      {"shortlist", "zhuyi_options_shortlist, as it needs the translator"},
      {"rescore", "zhuyi_options_rescorer, as it is a translator"},
      {"format", "zhuyi_result_... gives all of it"},
      {"score", "zhuyi_result_score"},
      {"word-scores", "zhuyi_result_word_log_probability"},
      {"timing", "of a stream"},
      {"kernels", "of the process: a library computes with the best there is"},
      {"attention", "a picture; zhuyi_result_attention gives the numbers"}};
  return reasons;
}

class Names : public LibraryModel {
 protected:
  // Options of the program with the kind of value that its help names, "N [4]"; no dashes.
  static std::map<std::string, std::string> of_help() {
    std::map<std::string, std::string> options;
    for (const HelpEntry& entry : help_entries(run_program(ZHUYI_PROGRAM, {"translate", "--help"}, "").out)) {
      for (const std::string& name : entry.names) {
        if (name.starts_with("--")) options[name.substr(2)] = entry.value;
      }
    }
    return options;
  }

  // The same less those of the program alone.
  static std::map<std::string, std::string> shared() {
    std::map<std::string, std::string> options = of_help();
    for (const auto& [name, reason] : of_the_program()) options.erase(name);
    return options;
  }

  // What the C interface says of an option's value; "" when it takes it.
  static std::string told(const std::string& name, const std::string& value) {
    const std::unique_ptr<zhuyi_options, void (*)(zhuyi_options*)> options(zhuyi_options_new(), zhuyi_options_free);
    char* error = nullptr;
    if (zhuyi_options_set(options.get(), name.c_str(), value.c_str(), &error) == 1) return "";
    const std::string message = error;
    zhuyi_free_string(error);
    return message;
  }

  static Outcome program(const std::string& name, const std::string& value) {
    return run_program(ZHUYI_PROGRAM, {"translate", "-m", model(), "--" + name + "=" + value}, "");
  }

  // The words that an option may be, from a message "... in {this,that}" or "... expected this or that".
  static std::set<std::string> words_of(const std::string& message, const std::string& before) {
    const std::size_t begin = message.find(before);
    if (begin == std::string::npos) return {};
    const std::regex word("[a-z-]+");
    const std::string list = message.substr(begin + before.size(), message.find('}', begin) - begin - before.size());
    std::set<std::string> words(std::sregex_token_iterator(list.begin(), list.end(), word), {});
    words.erase("or");
    return words;
  }
};

TEST_F(Names, AreTheSameInTheProgramAndInC) {
  std::set<std::string> in_program;
  for (const auto& [name, kind] : shared()) in_program.insert(name);
  const std::string message = told("no-such-option", "");
  const std::string before = "expected one of ";
  ASSERT_THAT(message, HasSubstr(before));
  const std::string list = message.substr(message.find(before) + before.size());
  const std::regex name("[a-z-]+");
  const std::set<std::string> in_c(std::sregex_token_iterator(list.begin(), list.end(), name), {});
  EXPECT_EQ(in_c, in_program);
  EXPECT_GE(in_c.size(), 40u);
  for (const auto& [exception, reason] : of_the_program()) EXPECT_THAT(of_help(), Contains(Key(exception))) << reason;
}

TEST_F(Names, TakeTheSameForms) {
  // A value of each kind that both take, and one that both refuse ("": none).
  const std::map<std::string, std::pair<std::string, std::string>> values = {{"", {"true", "perhaps"}},
                                                                             {"N", {"1", "1x"}},
                                                                             {"NAME", {"", "no-such-word"}},
                                                                             {"SIZE", {"200M", "200Q"}},
                                                                             {"TEXT", {"text", ""}},
                                                                             {"CODE", {"de", ""}},
                                                                             {"FILE", {"", ""}},
                                                                             {"PIECES", {"<0x41> <0x42>", ""}},
                                                                             {"F", {"0.5", "half"}},
                                                                             {"A", {"0.5", "half"}},
                                                                             {"B", {"0.5", "half"}},
                                                                             {"R", {"0.5", "half"}},
                                                                             {"T", {"0.5", "half"}},
                                                                             {"P", {"0.5", "half"}},
                                                                             {"K", {"3", "3x"}},
                                                                             {"W", {"0.5", "half"}}};
  // A line of a file that both read.
  const std::map<std::string, std::string> lines = {{"phrases", "A|B\tC"}, {"glossary", "file\tA|B"}};
  for (const auto& [name, kind] : shared()) {
    SCOPED_TRACE(name);
    const auto pair = values.find(kind.substr(0, kind.find(' ')));
    ASSERT_NE(pair, values.end()) << kind;
    auto [good, bad] = pair->second;
    if (pair->first == "FILE") {
      ASSERT_THAT(lines, Contains(Key(name)));
      const Outcome outcome = program(name, folder().write(name, lines.at(name) + "\n"));
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_EQ(told(name, lines.at(name)), "");
      continue;
    }
    if (pair->first == "NAME") {
      const std::set<std::string> words = words_of(program(name, bad).err, " in {");
      EXPECT_GE(words.size(), 2u);
      EXPECT_EQ(words_of(told(name, bad), "expected "), words);
      good = *words.begin();
    }
    if (name == "max-source-tokens") good = "16";  // its least
    const Outcome outcome = program(name, good);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(told(name, good), "");
    if (bad.empty()) continue;
    EXPECT_EQ(program(name, bad).exit_code, 2);
    EXPECT_THAT(told(name, bad), HasSubstr(bad));
  }
}

// Each by what it does, as the two have nothing else in common.
TEST_F(Names, OldOnesOfCWorkAsTheNewOnes) {
  using Settings = std::vector<std::pair<std::string, std::string>>;
  const std::unique_ptr<zhuyi_translator, void (*)(zhuyi_translator*)> translator(zhuyi_load(model().c_str(), nullptr),
                                                                                  zhuyi_free);
  const auto translated = [&](const Settings& settings) {
    const std::unique_ptr<zhuyi_options, void (*)(zhuyi_options*)> options(zhuyi_options_new(), zhuyi_options_free);
    EXPECT_EQ(zhuyi_options_set(options.get(), "max-length-extra", "12", nullptr), 1);
    for (const auto& [name, value] : settings) {
      EXPECT_EQ(zhuyi_options_set(options.get(), name.c_str(), value.c_str(), nullptr), 1) << name;
    }
    char* text = zhuyi_translate_line(translator.get(), "Close the file. Save it.", options.get(), nullptr);
    const std::string result = text == nullptr ? "" : text;
    zhuyi_free_string(text);
    return result;
  };
  const std::string plain = translated({});
  ASSERT_FALSE(plain.empty());
  const std::string phrases = translated({{"phrases", "文件|窗口\t保存"}});
  EXPECT_EQ(translated({{"phrase", "文件|窗口"}, {"phrase", "保存"}}), phrases);
  EXPECT_THAT(phrases, HasSubstr("保存"));
  const std::string suppressed = translated({{"suppress-pieces", "<0x41> <0x42>"}, {"min-length", "4"}});
  EXPECT_EQ(translated({{"suppress-piece", "<0x41>"}, {"suppress-piece", "<0x42>"}, {"min-length", "4"}}), suppressed);
  EXPECT_EQ(translated({{"no-split", "true"}}), translated({{"split", "false"}}));
  EXPECT_NE(translated({{"no-split", "true"}}), plain);
}

}  // namespace
}  // namespace zhuyi::testing
