#pragma once
// What the tests of zhuyi translate share: a model in a folder, and the program run on it.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/program.h"
#include "infer/small_translator.h"

namespace zhuyi::testing {

// The lines of a text, without their ends.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return lines;
}

// zhuyi translate with a tiny model of random weights.
class TranslateCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    formats::save_model(folder_->file("model.safetensors"), infer::small_model());
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string model() { return folder_->file("model.safetensors"); }
  static const TemporaryFolder& folder() { return *folder_; }

  // zhuyi translate with the model, short outputs and more arguments.
  static Outcome translate(const std::string& input, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"translate", "-m", model(), "--max-length-extra", "6"});
    return run_zhuyi(arguments, input);
  }
  // A line of a shell; $ZHUYI and $MODEL stand for the program and the model.
  static Outcome shell(const std::string& line) {
    return run_program("/bin/sh", {"-c", "ZHUYI='" ZHUYI_PROGRAM "'; MODEL='" + model() + "'; " + line});
  }

 private:
  inline static std::unique_ptr<TemporaryFolder> folder_;
};

}  // namespace zhuyi::testing
