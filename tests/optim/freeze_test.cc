// Patterns of names, and what they choose.

#include "optim/freeze.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace zhuyi::optim {
namespace {

TEST(Freeze, PatternsFitWholeNames) {
  EXPECT_TRUE(matches("encoder.*", "encoder.0.feed_forward.input.weight"));
  EXPECT_FALSE(matches("encoder.*", "decoder.0.encoder.x"));
  EXPECT_FALSE(matches("encoder", "encoder.0"));
  EXPECT_TRUE(matches("embedding", "embedding"));
  EXPECT_TRUE(matches("*.bias", "decoder.norm.bias"));
  EXPECT_FALSE(matches("*.bias", "decoder.norm.bias2"));
  EXPECT_TRUE(matches("*.0.*.weight", "encoder.0.self_attention.query.weight"));
  EXPECT_FALSE(matches("*.0.*.weight", "encoder.10.self_attention.query.bias"));
  EXPECT_TRUE(matches("**", ""));
  EXPECT_FALSE(matches("", "x"));
}

TEST(Freeze, ChoosesParametersAndNamesWhatThereIs) {
  autograd::Parameters parameters;
  for (const char* name : {"embedding", "encoder.0.weight", "encoder.0.bias", "decoder.0.weight"}) {
    parameters.add(name, 1, 1, {});
  }
  const auto names = [&](const std::vector<std::string>& patterns) {
    std::vector<std::string> found;
    for (const autograd::ConstParameterPtr& p : frozen_parameters(parameters, patterns)) found.push_back(p->name);
    return found;
  };
  EXPECT_EQ(names({}), (std::vector<std::string>{}));
  EXPECT_EQ(names({"encoder.*", "*.bias"}), (std::vector<std::string>{"encoder.0.weight", "encoder.0.bias"}));
  EXPECT_THROW(names({"*"}), base::Error);
  try {
    names({"encoder.*", "coder"});
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("'coder'; there are embedding, encoder.*, decoder.*"));
  }
}

}  // namespace
}  // namespace zhuyi::optim
