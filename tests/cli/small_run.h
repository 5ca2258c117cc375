#pragma once
// A training run of the built program that takes a moment: a text by a little grammar, a model of a few thousand
// numbers.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"

namespace zhuyi::testing {

inline std::string some_pairs(int begin, int end) {
  const std::vector<std::pair<std::string, std::string>> things = {
      {"file", "文件"}, {"table", "表格"}, {"page", "页面"}, {"letter", "信件"}, {"picture", "图片"}};
  std::string text;
  for (int i = begin; i < end; ++i) {
    const auto& [thing, thing_zh] = things[static_cast<std::size_t>(i) % things.size()];
    const std::string number = std::to_string(i);
    text += "open the " + thing + " number " + number + "\t打开第" + number + "个" + thing_zh + "\n";
  }
  return text;
}

using Words = std::vector<std::string>;

inline Words joined(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class SmallRun : public ::testing::Test {
 protected:
  SmallRun() {
    train_ = folder_.write("train.tsv", some_pairs(0, 80));
    valid_ = folder_.write("valid.tsv", some_pairs(80, 86));
  }

  // A command that trains in the directory `run` of the test's folder.
  Words command(const std::string& run, const Words& more = {}) const {
    const Words model = {"--preset", "tiny", "--d-model",        "16", "--d-ff",           "16",
                         "--heads",  "2",    "--encoder-layers", "1",  "--decoder-layers", "1"};
    const Words data = {"--vocabulary", "330", "--batch-tokens", "150", "--validate-translations", "1"};
    const Words rest = {"--report-steps", "1", "--threads", "1", "--precision", "f32"};
    const Words start = {"train", "--train", train_, "--valid", valid_, "-o", folder_.file(run)};
    return joined(joined(start, joined(model, data)), joined(rest, more));
  }
  std::string file(const std::string& run, const std::string& name) const { return folder_.file(run) + "/" + name; }

  // The lines of metrics without the two fields that tell the time.
  std::vector<nlohmann::json> metrics(const std::string& run) const {
    std::istringstream text(content_of(file(run, "metrics.jsonl")));
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line));
      lines.back().erase("seconds");
      lines.back().erase("target_tokens_per_second");
    }
    return lines;
  }

  std::set<std::string> files(const std::string& run) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.file(run))) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  TemporaryFolder folder_;
  std::string train_;
  std::string valid_;
};

}  // namespace zhuyi::testing
