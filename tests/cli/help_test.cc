// The help of all commands, read as a whole.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/help_text.h"
#include "cli/program.h"

namespace zhuyi::testing {
namespace {

std::vector<std::string> commands() {
  std::vector<std::string> names;
  std::istringstream text(run_zhuyi({"--help"}).out);
  for (std::string line; std::getline(text, line) && line != "Subcommands:";) {
  }
  const std::regex command(R"(^  ([a-z]+) +\S.*)");
  std::smatch match;
  for (std::string line; std::getline(text, line);) {
    if (std::regex_match(line, match, command)) names.push_back(match[1]);
  }
  return names;
}

// Noun phrases in lower case, but for names and formulas.
TEST(Help, TextsBeginInLowerCaseAndEndWithoutAStop) {
  const std::set<std::string> names = {"Adam", "AdamW", "Muon", "SentencePiece", "TensorBoard"};
  int checked = 0;
  for (const std::string& command : commands()) {
    for (const HelpEntry& entry : help_entries(run_zhuyi({command, "--help"}).out)) {
      SCOPED_TRACE(command + ": " + entry.name() + ": " + entry.text);
      ASSERT_FALSE(entry.text.empty());
      const std::string first = entry.text.substr(0, entry.text.find_first_of(" ,:'"));
      const auto lower = [](unsigned char c) { return std::islower(c) != 0; };
      const bool capital = std::isupper(static_cast<unsigned char>(first[0])) != 0;
      EXPECT_TRUE(!capital || std::none_of(first.begin(), first.end(), lower) || names.contains(first));
      EXPECT_NE(entry.text.back(), '.');
      ++checked;
    }
  }
  EXPECT_GE(checked, 180);
}

TEST(Help, AnOptionOfSeveralCommandsTakesTheSameKindOfValue) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, int> uses;
  for (const std::string& command : commands()) {
    if (command == "train") continue;  // its help names kinds of numbers
    for (const HelpEntry& entry : help_entries(run_zhuyi({command, "--help"}).out)) {
      if (!entry.name().starts_with("--") || entry.name() == "--output") continue;  // outputs have names of many kinds
      values[entry.name()].insert(entry.value.substr(0, entry.value.find(' ')));
      ++uses[entry.name()];
    }
  }
  int shared = 0;
  for (const auto& [name, kinds] : values) {
    EXPECT_EQ(kinds.size(), 1u) << name << ": " << ::testing::PrintToString(kinds);
    shared += uses[name] > 1 ? 1 : 0;
  }
  EXPECT_GE(shared, 5);  // --model, --threads, --batch, --json, --vocabulary, ...
}

}  // namespace
}  // namespace zhuyi::testing
