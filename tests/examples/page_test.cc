// The numbers on a page are those that the programs print: every block of docs/attention.md that names a program is its
// output.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.h"

namespace zhuyi::testing {
namespace {

const std::filesystem::path kPage = std::filesystem::path(ZHUYI_SOURCE_DIR) / "docs" / "attention.md";

// A block fenced by ```text COMMAND: the command (an example's name, or zhuyi and its arguments) and what it prints.
struct Block {
  std::vector<std::string> command;
  std::string text;
  int line = 0;
};

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> blocks;
  std::istringstream lines(page);
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("```text ")) {
      std::istringstream words(line.substr(8));
      blocks.push_back({{}, "", number});
      for (std::string word; words >> word;) blocks.back().command.push_back(word);
      inside = true;
    }
  }
  return blocks;
}

TEST(AttentionPage, ShowsWhatItsProgramsPrint) {
  const std::vector<Block> blocks = blocks_of(content_of(kPage));
  ASSERT_FALSE(blocks.empty());
  for (const Block& block : blocks) {
    const std::string& name = block.command.front();
    const std::vector<std::string> arguments(block.command.begin() + 1, block.command.end());
    const std::string program = name == "zhuyi" ? ZHUYI_PROGRAM : std::string(ZHUYI_EXAMPLES_DIR) + "/example_" + name;
    const Outcome outcome = run_program(program, arguments);
    EXPECT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
    EXPECT_EQ(outcome.out, block.text) << kPage << ", line " << block.line << ": not what " << name << " prints";
  }
}

TEST(AttentionPage, ShowsEveryProgramOfItsSeriesOnce) {
  std::multiset<std::string> shown;
  for (const Block& block : blocks_of(content_of(kPage))) shown.insert(block.command.front());
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(ZHUYI_SOURCE_DIR) / "examples")) {
    const std::string name = entry.path().stem().string();
    if (!name.starts_with("attention_")) continue;
    ++programs;
    EXPECT_EQ(shown.count(name), 1u) << name;
  }
  EXPECT_GE(programs, 5);
}

}  // namespace
}  // namespace zhuyi::testing
