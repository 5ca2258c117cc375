#pragma once
// A model in a file, and what the rooms behind the library say about it.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zhuyi/translator.h>

#include <memory>
#include <string>
#include <vector>

#include "infer/small_translator.h"
#include "infer/translator.h"
#include "temporary_folder.h"

namespace zhuyi::testing {

// A fixture with a folder that has model.safetensors and other.safetensors, of the same vocabulary.
class LibraryModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    formats::save_model(file("model.safetensors"), infer::small_model());
    formats::save_model(file("other.safetensors"), infer::small_model(0, 5));
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string file(const std::string& name) { return folder_->file(name); }
  static std::string model() { return file("model.safetensors"); }
  static std::string other() { return file("other.safetensors"); }
  static const TemporaryFolder& folder() { return *folder_; }

  // The best translation of a line with the options by default.
  static std::string expected(const std::string& line) {
    const infer::Translator translator(infer::small_model());
    return translator.translate({&line, 1}, translator.defaults()).front().text;
  }

 private:
  inline static std::unique_ptr<TemporaryFolder> folder_;
};

// What c_program.c and ctypes_program.py print of a line: its three best translations, with scores of six digits.
inline std::string three_best(const std::string& model, const std::string& line) {
  Options options;
  options.n_best = 3;
  options.max_length_extra = 8;
  const std::vector<Translation> found = Translator(model).translate_lines({&line, 1}, options);
  std::string expected;
  for (const Alternative& alternative : found[0].alternatives) {
    expected += fmt::format("{}\t{:.6f}\n", alternative.text, alternative.score);
  }
  return expected;
}

}  // namespace zhuyi::testing
