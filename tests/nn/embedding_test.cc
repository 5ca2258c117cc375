// Embeddings: the scale, positions of the paper's formula beyond any table, and where learned positions end.

#include "nn/embedding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models.h"

namespace zhuyi::nn {
namespace {

using tensor::DType;
using tensor::Tensor;

struct Table {
  autograd::Parameters parameters;
  ParameterPtr embedding;
  ParameterPtr positions;

  WeightPtr weight() const { return std::make_shared<ops::Weight>(embedding, true); }
};

Table table_of(const Config& config) {
  Table table;
  table.embedding = table.parameters.add("embedding", config.source_vocabulary, config.d_model,
                                         {autograd::Initialization::Kind::normal, 1});
  if (config.positions == Positions::learned) {
    table.positions = table.parameters.add("positions", config.max_positions, config.d_model,
                                           {autograd::Initialization::Kind::normal, 1});
  }
  table.parameters.lay_out(DType::f64, 1);
  return table;
}

// Paper 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(the same); paper 3.4: times sqrt(d_model).
TEST(Embedding, SinusoidsFollowTheFormulaWhereverTheyStand) {
  Config config = small_config();
  config.max_positions = 10;
  const Table table = table_of(config);
  const Embedding embedding(table.weight(), nullptr, config);
  const std::vector<std::int32_t> positions = {0, 1, 9, 10, 11, 1023, 1024, 5000, 1000000};
  const std::vector<std::int32_t> ids = {3, 4, 5, 6, 7, 8, 9, 3, 3};
  autograd::Run run;
  const Tensor out = embedding(ids, positions, run).value();
  const double d = static_cast<double>(config.d_model);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::int64_t j = 0; j < config.d_model; ++j) {
      const double angle = positions[i] / std::pow(10000.0, static_cast<double>(j / 2 * 2) / d);
      const double expected =
          table.embedding->value.at(ids[i], j) * std::sqrt(d) + (j % 2 == 0 ? std::sin(angle) : std::cos(angle));
      EXPECT_NEAR(out.at(static_cast<std::int64_t>(i), j), expected, 1e-9) << positions[i] << " " << j;
    }
  }
}

TEST(Embedding, LearnedPositionsEnd) {
  Config config = small_config();
  config.positions = Positions::learned;
  config.max_positions = 4;
  const Table table = table_of(config);
  const Embedding embedding(table.weight(), table.positions, config);
  autograd::Run run;
  const std::vector<std::int32_t> ids = {3, 4};
  const Tensor out = embedding(ids, std::vector<std::int32_t>{0, 3}, run).value();
  EXPECT_NEAR(out.at(1, 2), 4 * table.embedding->value.at(4, 2) + table.positions->value.at(3, 2), 1e-12);
  try {
    embedding(ids, std::vector<std::int32_t>{0, 4}, run);
    ADD_FAILURE() << "position 4 of 4";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::invalid_argument);
    EXPECT_THAT(error.message(), testing::HasSubstr("more than 4 tokens"));
  }
  EXPECT_THROW(embedding(ids, std::vector<std::int32_t>{0}, run), base::Error);
}

TEST(Embedding, WithoutPositionsOrderIsUnseen) {
  Config config = small_config();
  config.positions = Positions::none;
  const Transformer model(config, kBos, 1, DType::f64);
  Tokens forward;
  forward.append(std::vector<std::int32_t>{5, 6, 7});
  Tokens backward;
  backward.append(std::vector<std::int32_t>{7, 6, 5});
  autograd::Run run;
  const Tensor a = model.encode(forward, run).states.value();
  const Tensor b = model.encode(backward, run).states.value();
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t j = 0; j < config.d_model; ++j) EXPECT_NEAR(a.at(row, j), b.at(2 - row, j), 1e-12);
  }
}

TEST(Transformer, ASentenceBeyondLearnedPositionsIsRefused) {
  Config config = small_config();
  config.positions = Positions::learned;
  config.max_positions = 4;
  const Transformer model(config, kBos, 1);
  autograd::Run run;
  Tokens fits;
  fits.append(sentence(4, 3, 40, 1));
  EXPECT_NO_THROW(model.encode(fits, run));
  Tokens long_one;
  long_one.append(sentence(5, 3, 40, 1));
  EXPECT_THROW(model.encode(long_one, run), base::Error);
}

// Attention that is causal: what comes later changes nothing before.
TEST(Transformer, LaterTokensDoNotReachEarlierRows) {
  const Transformer model(small_config(), kBos, 1);
  Tokens source;
  source.append(sentence(4, 3, 40, 1));
  autograd::Run run;
  const Memory memory = model.encode(source, run);
  std::vector<std::int32_t> ids = sentence(6, 3, 40, 2);
  Tokens target;
  target.append(ids);
  const Tensor before = model.decode(target, memory, run).value();
  ids[3] = 45;
  Tokens changed;
  changed.append(ids);
  const Tensor after = model.decode(changed, memory, run).value();
  EXPECT_EQ(bytes_of(after, 0, 4), bytes_of(before, 0, 4));  // row i reads token i - 1
  EXPECT_NE(bytes_of(after, 4, 6), bytes_of(before, 4, 6));
}

}  // namespace
}  // namespace zhuyi::nn
