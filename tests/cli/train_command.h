#pragma once
// A run of `zhuyi train` from outside: a text by a little grammar, and a command for a model of a few thousand numbers.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"

namespace zhuyi::testing {

// Lines "a word of English TAB 几个汉字 TAB document" by a little grammar.
inline std::string pairs(int begin, int end) {
  const std::vector<std::pair<std::string, std::string>> verbs = {
      {"open", "打开"}, {"close", "关闭"}, {"print", "打印"}, {"delete", "删除"}, {"copy", "复制"}};
  const std::vector<std::pair<std::string, std::string>> things = {{"file", "文件"},    {"table", "表格"},
                                                                   {"page", "页面"},    {"letter", "信件"},
                                                                   {"picture", "图片"}, {"window", "窗口"}};
  std::string text;
  for (int i = begin; i < end; ++i) {
    const auto& [verb, verb_zh] = verbs[static_cast<std::size_t>(i) % verbs.size()];
    const auto& [thing, thing_zh] = things[static_cast<std::size_t>(i / 5) % things.size()];
    const std::string number = std::to_string(i);
    text += verb + " the " + thing + " number " + number + "\t" + verb_zh + "第" + number + "个" + thing_zh + "\tdoc" +
            std::to_string(i / 20) + "\n";
  }
  return text;
}

inline std::vector<nlohmann::json> records_of(const std::string& path) {
  std::istringstream text(content_of(path));
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

inline std::vector<std::string> operator+(std::vector<std::string> left, const std::vector<std::string>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

class TrainCommand : public ::testing::Test {
 protected:
  TrainCommand() {
    train_ = folder_.write("train.tsv", pairs(0, 100));
    valid_ = folder_.write("valid.tsv", pairs(100, 110));
    run_ = folder_.file("run");
  }

  // A command for a model of a few thousand parameters.
  std::vector<std::string> command(const std::vector<std::string>& more) const {
    return std::vector<std::string>{
               "train", "--train",        train_, "--valid",          valid_, "-o",
               run_,    "--preset",       "tiny", "--d-model",        "16",   "--d-ff",
               "16",    "--heads",        "2",    "--encoder-layers", "1",    "--decoder-layers",
               "1",     "--vocabulary",   "400",  "--batch-tokens",   "200",  "--validate-translations",
               "2",     "--report-steps", "1"} +
           more;
  }
  std::string in_run(const std::string& name) const { return run_ + "/" + name; }

  TemporaryFolder folder_;
  std::string train_;
  std::string valid_;
  std::string run_;
};

}  // namespace zhuyi::testing
