// Starting from another model: pieces in common keep their rows, whatever their ids; the rest is as it was drawn.

#include "train/initialise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

using autograd::ParameterPtr;

// A tokenizer of some lines: those that share words share pieces.
text::Tokenizer tokenizer_of(const std::vector<std::string>& lines, std::int64_t size) {
  text::TokenizerTraining training;
  training.size = size;
  training.size_is_limit = true;
  training.byte_fallback = false;
  training.threads = 1;
  return text::Tokenizer(text::train_tokenizer(lines, training));
}

std::vector<std::string> old_lines() {
  return {"the old house", "an old tree", "the house and the tree", "old and older"};
}
std::vector<std::string> new_lines() {
  return {"the new house", "a new river", "the river and the house", "new and newer", "the tree by the river"};
}

bool same_row(const ParameterPtr& a, std::int64_t i, const ParameterPtr& b, std::int64_t j) {
  for (std::int64_t k = 0; k < a->columns; ++k) {
    if (a->value.at(i, k) != b->value.at(j, k)) return false;
  }
  return true;
}

TEST(InitialiseFrom, PiecesInCommonKeepTheirRows) {
  const text::Tokenizer before = tokenizer_of(old_lines(), 40);
  const text::Tokenizer now = tokenizer_of(new_lines(), 44);
  const formats::Model from = new_model(small_config(16, 1), before, 1);
  formats::Model model = new_model(small_config(16, 2), now, 2);
  const formats::Model drawn = new_model(small_config(16, 2), now, 2);
  const Initialised result = initialise_from(from, model);

  const ParameterPtr rows = model.transformer->parameters().find("embedding");
  const ParameterPtr old_rows = from.transformer->parameters().find("embedding");
  const ParameterPtr drawn_rows = drawn.transformer->parameters().find("embedding");
  std::int64_t shared = 0;
  bool moved = false;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(now.size()); ++id) {
    const std::int32_t row = before.id(now.piece(id));
    EXPECT_TRUE(row >= 0 ? same_row(rows, id, old_rows, row) : same_row(rows, id, drawn_rows, id)) << now.piece(id);
    shared += row >= 0 ? 1 : 0;
    moved = moved || (row >= 0 && row != id);
  }
  EXPECT_TRUE(moved);
  EXPECT_EQ(result.shared_rows, shared);
  EXPECT_GT(shared, 10);
  EXPECT_EQ(result.new_rows, now.size() - shared);
  EXPECT_GT(result.new_rows, 0);

  std::int64_t whole = 0;
  for (const ParameterPtr& parameter : model.transformer->parameters().list()) {
    if (parameter->name == "embedding") continue;
    const ParameterPtr other = from.transformer->parameters().find(parameter->name);
    const ParameterPtr expected = other ? other : drawn.transformer->parameters().find(parameter->name);
    EXPECT_TRUE(std::ranges::equal(parameter->value.data<float>(), expected->value.data<float>())) << parameter->name;
    whole += other ? 1 : 0;
  }
  EXPECT_EQ(result.parameters, whole);
  EXPECT_THAT(result.missing, testing::Contains("encoder.1.feed_forward.input.weight"));
}

TEST(InitialiseFrom, TiedMatricesServeThoseThatAreApart) {
  const text::Tokenizer pieces = tokenizer_of(old_lines(), 40);
  nn::Config apart = small_config(16, 1);
  apart.tying = nn::Tying::none;
  const formats::Model tied = new_model(small_config(16, 1), pieces, 1);
  formats::Model model = new_model(apart, pieces, 2);
  initialise_from(tied, model);
  const auto numbers = [](const formats::Model& m, const char* name) {
    return m.transformer->parameters().find(name)->value.data<float>();
  };
  for (const char* name : {"source_embedding", "target_embedding", "output_projection"}) {
    EXPECT_TRUE(std::ranges::equal(numbers(model, name), numbers(tied, "embedding"))) << name;
  }
}

TEST(InitialiseFrom, ModelsOfAnotherKindAreRefused) {
  const text::Tokenizer pieces = tokenizer_of(old_lines(), 40);
  const formats::Model from = new_model(small_config(16, 1), pieces, 1);
  nn::Config config = small_config(32, 1);
  formats::Model wider = new_model(config, pieces, 2);
  try {
    initialise_from(from, wider);
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_model);
    EXPECT_THAT(error.message(), testing::HasSubstr("d-model 16, now 32"));
  }
  config = small_config(16, 1);
  config.activation = kernels::Activation::gelu;
  formats::Model smooth = new_model(config, pieces, 2);
  EXPECT_THROW(initialise_from(from, smooth), base::Error);
}

}  // namespace
}  // namespace zhuyi::train
