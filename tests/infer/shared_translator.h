#pragma once
// A fixture for tests of text-to-text translation: one translator of the tiny model for all tests of a suite.

#include <gtest/gtest.h>

#include <memory>

#include "infer/small_translator.h"
#include "infer/translator.h"

namespace zhuyi::infer {

class SharedTranslator : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = std::make_unique<Translator>(small_model()); }
  static void TearDownTestSuite() { shared_.reset(); }

  const Translator& translator() const { return *shared_; }
  // Short translations: the model seldom ends by itself.
  TranslateOptions options() const {
    TranslateOptions result = translator().defaults();
    result.search.max_length_extra = 12;
    return result;
  }

 private:
  inline static std::unique_ptr<Translator> shared_;
};

}  // namespace zhuyi::infer
