// zhuyi average from outside: the mean of two models by hand, and what has no mean.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/program.h"
#include "infer/small_translator.h"

namespace zhuyi::testing {
namespace {

using ::testing::HasSubstr;

TEST(AverageCommand, GivesTheMeanOfEachWeight) {
  const TemporaryFolder folder;
  formats::Model model = infer::small_model();
  model.provenance["steps"] = "7";
  model.source_scripts = {"Latn"};
  const std::span<float> weights = model.transformer->parameters().flat().data<float>();
  const std::vector<float> first(weights.begin(), weights.end());
  formats::save_model(folder.file("a"), model);
  for (float& weight : weights) weight = 2 * weight + 1;
  formats::save_model(folder.file("b"), model);
  const Outcome outcome = run_zhuyi({"average", folder.file("a"), folder.file("b"), "-o", folder.file("mean")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, folder.file("mean") + "\n");
  const formats::Model mean = formats::load_model(folder.file("mean"));
  for (const autograd::ParameterPtr& parameter : mean.transformer->parameters().list()) {
    for (std::int64_t i = 0; i < parameter->rows * parameter->columns; ++i) {
      const float before = first[static_cast<std::size_t>(parameter->offset + i)];
      EXPECT_NEAR(parameter->value.data<float>()[static_cast<std::size_t>(i)], 1.5 * before + 0.5, 1e-6);
    }
  }
  EXPECT_EQ(mean.provenance.at("averaged-models"), "2");
  EXPECT_EQ(mean.provenance.at("made-by"), "a test");
  EXPECT_FALSE(mean.provenance.contains("steps"));
  EXPECT_EQ(mean.source_scripts, model.source_scripts);
  // A mean can be translated with.
  EXPECT_EQ(run_zhuyi({"translate", "-m", folder.file("mean")}, "a\n").exit_code, 0);
}

TEST(AverageCommand, RefusesModelsThatDiffer) {
  const TemporaryFolder folder;
  formats::save_model(folder.file("a"), infer::small_model());
  formats::Model other = infer::small_model();
  nn::Config config = other.transformer->config();
  config.d_ff += 8;
  other.transformer = std::make_unique<nn::Transformer>(config, other.transformer->bos(), 1);
  formats::save_model(folder.file("wide"), other);
  const Outcome outcome = run_zhuyi({"average", folder.file("a"), folder.file("wide"), "-o", folder.file("mean")});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("d-ff 24, now 32"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("mean")));
  EXPECT_EQ(run_zhuyi({"average", folder.file("a"), "-o", folder.file("mean")}).exit_code, 2);
  EXPECT_EQ(run_zhuyi({"average", folder.file("a"), folder.file("none"), "-o", folder.file("mean")}).exit_code, 3);
}

}  // namespace
}  // namespace zhuyi::testing
