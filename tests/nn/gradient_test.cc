// The gradient of the whole model with every kind of dropout on, against central differences; and dropout as a function
// of its key.

#include <gtest/gtest.h>

#include <cmath>

#include "models.h"

namespace zhuyi::nn {
namespace {

using autograd::Gradients;
using autograd::Tape;
using tensor::DType;
using tensor::Tensor;

struct Variant {
  const char* name;
  void (*change)(Config&);
};

constexpr Variant kVariants[] = {
    {"gelu", [](Config& c) { c.activation = kernels::Activation::gelu; }},
    {"gated_rms", [](Config& c) { c.gated = true, c.activation = kernels::Activation::silu, c.norm = NormKind::rms; }},
    {"gaussian_pre",
     [](Config& c) {
       c.similarity = kernels::Similarity::gaussian, c.bandwidth = 1.5, c.norm_placement = NormPlacement::pre;
       c.activation = kernels::Activation::gelu, c.gated = true;
     }},
    {"learned_untied",
     [](Config& c) {
       c.positions = Positions::learned, c.max_positions = 9, c.tying = Tying::none, c.output_bias = true;
       c.activation = kernels::Activation::silu, c.smoothing_form = kernels::SmoothingForm::fairseq;
     }},
    {"dot_widths",
     [](Config& c) {
       c.similarity = kernels::Similarity::dot, c.d_k = 3, c.d_v = 5, c.biases = false, c.tying = Tying::output;
       c.norm_placement = NormPlacement::pre, c.norm = NormKind::rms, c.activation = kernels::Activation::identity;
     }},
};

Config config_of(const Variant& variant) {
  Config config = small_config();
  config.d_model = 8;
  config.dropout = 0.1;
  config.attention_dropout = 0.15;
  config.feed_forward_dropout = 0.2;
  variant.change(config);
  return config;
}

Batch small_batch() {
  Batch batch;
  for (const std::int64_t length : {4, 1, 7}) {
    batch.source.append(sentence(length, 3, 47, base::combine(1, length)));
    std::vector<std::int32_t> target = sentence(8 - length, 3, 47, base::combine(2, length));
    target.push_back(kEos);
    batch.target.append(target);
  }
  return batch;
}

class WholeModel : public testing::TestWithParam<Variant> {};

double loss_at(const Transformer& model, const Batch& batch, std::optional<std::uint64_t> key) {
  Gradients gradients(model.parameters());
  Tape tape(gradients);
  autograd::Run run(tape, key);
  return model.loss(batch, run).total.value().at(0, 0);
}

// Along a direction u, (L(p + h u) - L(p - h u)) / 2h is the scalar product of the gradient with u.
TEST_P(WholeModel, GradientEqualsDirectionalDifferences) {
  constexpr std::uint64_t kKey = 11;
  constexpr double kStep = 1e-5;
  Transformer model(config_of(GetParam()), kBos, 1, DType::f64);
  randomize(model, 2, 0.1);
  const Batch batch = small_batch();
  Gradients gradients(model.parameters());
  Tape tape(gradients);
  autograd::Run run(tape, kKey);
  tape.backward(model.loss(batch, run).total);
  const std::span<double> parameters = model.parameters().flat().data<double>();
  const Tensor start = model.parameters().flat().clone();
  const auto loss_beside = [&](const std::vector<double>& direction, double step) {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = start.data<double>()[i] + step * direction[i];
    const double loss = loss_at(model, batch, kKey);
    model.parameters().flat().assign(start);
    return loss;
  };
  // One direction over all parameters, then one for each parameter alone.
  std::vector<std::pair<std::string, std::vector<double>>> directions;
  base::Random random(3);
  const auto add = [&](const std::string& name, std::int64_t begin, std::int64_t end) {
    std::vector<double> direction(parameters.size(), 0.0);
    for (std::int64_t i = begin; i < end; ++i) direction[static_cast<std::size_t>(i)] = random.normal();
    directions.emplace_back(name, std::move(direction));
  };
  for (int i = 0; i < 4; ++i) add("all", 0, model.parameters().flat().size());
  for (const ParameterPtr& p : model.parameters().list()) add(p->name, p->offset, p->offset + p->rows * p->columns);
  for (const auto& [name, direction] : directions) {
    const double measured = (loss_beside(direction, kStep) - loss_beside(direction, -kStep)) / (2 * kStep);
    double product = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) product += gradients.flat().data<double>()[i] * direction[i];
    EXPECT_LT(std::abs(measured - product), 1e-6 * std::max(1.0, std::abs(measured))) << name << ": " << product;
  }
}

TEST_P(WholeModel, DropoutIsAFunctionOfItsKey) {
  const Transformer model(config_of(GetParam()), kBos, 1);
  const Batch batch = small_batch();
  const double first = loss_at(model, batch, 5);
  EXPECT_EQ(loss_at(model, batch, 5), first);
  EXPECT_NE(loss_at(model, batch, 6), first);
  // A run without a key and one without a tape have none.
  autograd::Run inference;
  EXPECT_EQ(loss_at(model, batch, std::nullopt), model.loss(batch, inference).total.value().at(0, 0));
  // Noise around what there is without: the mean over keys stays near.
  double sum = 0;
  for (std::uint64_t key = 0; key < 50; ++key) sum += loss_at(model, batch, key);
  EXPECT_NEAR(sum / 50 / loss_at(model, batch, std::nullopt), 1, 0.25);
}

INSTANTIATE_TEST_SUITE_P(Variants, WholeModel, testing::ValuesIn(kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

// A model that holds the same sentence twice has twice its loss and gradient.
TEST(WholeModelSum, LossIsASumOverTokens) {
  Config config = small_config();
  const Transformer model(config, kBos, 1, DType::f64);
  const Batch once = small_batch();
  Batch twice = once;
  for (std::int64_t i = 0; i < once.source.sentences.count(); ++i) {
    const auto part = [i](const Tokens& tokens) {
      return std::span(tokens.ids)
          .subspan(static_cast<std::size_t>(tokens.sentences.begin(i)),
                   static_cast<std::size_t>(tokens.sentences.length(i)));
    };
    twice.source.append(part(once.source));
    twice.target.append(part(once.target));
  }
  const auto gradient_of = [&](const Batch& batch) {
    Gradients gradients(model.parameters());
    Tape tape(gradients);
    autograd::Run run(tape);
    tape.backward(model.loss(batch, run).total);
    return gradients.flat();
  };
  EXPECT_NEAR(loss_at(model, twice, std::nullopt), 2 * loss_at(model, once, std::nullopt), 1e-9);
  const Tensor single = gradient_of(once);
  const Tensor both = gradient_of(twice);
  for (std::int64_t i = 0; i < single.size(); ++i) ASSERT_NEAR(both.at(0, i), 2 * single.at(0, i), 1e-10) << i;
}

}  // namespace
}  // namespace zhuyi::nn
