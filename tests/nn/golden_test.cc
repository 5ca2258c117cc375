// The whole model against PyTorch: logits, loss, every gradient, three Adam steps. The golden files are float64
// (scripts/make_golden.py); our f64 model must agree to 1e-9, our f32 model to 1e-5 of each tensor's largest number.

#include "golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "optim/adam.h"

namespace zhuyi::nn {
namespace {

using autograd::Gradients;
using autograd::Tape;
using formats::SafeTensorsFile;
using tensor::DType;
using tensor::Tensor;

double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-9 : 1e-5; }

// The largest difference over the largest number expected.
double distance(const Tensor& found, const Tensor& expected) {
  EXPECT_EQ(found.size(), expected.size());
  const Tensor a = found.to(DType::f64);
  const Tensor b = expected.to(DType::f64);
  double difference = 0;
  double largest = 1e-30;
  for (std::size_t i = 0; i < b.data<double>().size(); ++i) {
    difference = std::max(difference, std::abs(a.data<double>()[i] - b.data<double>()[i]));
    largest = std::max(largest, std::abs(b.data<double>()[i]));
  }
  return difference / largest;
}

// Every `step`-th row of a matrix from the first on; all of it for a step of 1.
Tensor every_row(const Tensor& matrix, std::int64_t step) {
  std::vector<double> numbers;
  for (std::int64_t row = 0; row < matrix.rows(); row += step) {
    for (std::int64_t column = 0; column < matrix.columns(); ++column) numbers.push_back(matrix.at(row, column));
  }
  return Tensor::of((matrix.rows() + step - 1) / step, matrix.columns(), numbers, matrix.dtype());
}

double largest(const Tensor& tensor) {
  double most = 0;
  const Tensor wide = tensor.to(DType::f64);
  for (const double number : wide.data<double>()) most = std::max(most, std::abs(number));
  return most;
}

// With dot products a constant added to all scores of a row changes nothing: this gradient is zero but for rounding.
bool is_zero_gradient(const std::string& name, const Config& config) {
  return name.ends_with("key.bias") && config.similarity != kernels::Similarity::gaussian;
}

class Golden : public testing::TestWithParam<std::tuple<std::string, DType>> {};

TEST_P(Golden, LogitsLossAndGradients) {
  const auto& [name, dtype] = GetParam();
  const SafeTensorsFile file = golden::open(name);
  const auto model = golden::model_of(file, dtype);
  const Batch batch = golden::batch_of(file);
  Gradients gradients(model->parameters());
  Tape tape(gradients);
  autograd::Run run(tape);
  const Memory memory = model->encode(batch.source, run);
  EXPECT_LT(distance(memory.states.value(), file.tensor("memory")), tolerance(dtype));
  autograd::Run inference;
  const Var decoded = model->decode(batch.target, model->encode(batch.source, inference), inference);
  EXPECT_LT(distance(model->logits(decoded.value()), file.tensor("logits")), tolerance(dtype));
  const ops::Loss loss = model->loss(batch, run);
  EXPECT_NEAR(loss.total.value().at(0, 0) / file.tensor("loss").at(0, 0), 1, tolerance(dtype));
  EXPECT_NEAR(loss.nll / file.tensor("nll").at(0, 0), 1, tolerance(dtype));
  tape.backward(loss.total);
  const auto row_step = file.metadata().find("gradient-row-step");
  for (const autograd::ParameterPtr& parameter : model->parameters().list()) {
    const Tensor expected = file.tensor("gradient." + parameter->name);
    const bool whole = row_step == file.metadata().end() || parameter->rows == 1;
    const Tensor found = every_row(gradients.of(*parameter), whole ? 1 : std::stoll(row_step->second));
    if (is_zero_gradient(parameter->name, model->config())) {
      EXPECT_LT(largest(found), tolerance(dtype)) << parameter->name;
    } else {
      EXPECT_LT(distance(found, expected), tolerance(dtype)) << parameter->name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Golden,
    testing::Combine(testing::Values("transformer_post_tied", "transformer_post_untied", "transformer_pre_tied",
                                     "transformer_pre_untied", "variant_gelu", "variant_rms_norm", "variant_swiglu",
                                     "variant_gaussian", "wide_post_tied"),
                     testing::Values(DType::f64, DType::f32)),
    [](const auto& info) { return std::get<0>(info.param) + "_" + tensor::name_of(std::get<1>(info.param)); });

class GoldenTraining : public testing::TestWithParam<std::tuple<std::string, DType>> {};

TEST_P(GoldenTraining, ThreeAdamSteps) {
  const auto& [name, dtype] = GetParam();
  const SafeTensorsFile file = golden::open(name);
  const auto model = golden::model_of(file, dtype);
  const Batch batch = golden::batch_of(file);
  optim::Adam adam(model->parameters(), {});  // 0.9, 0.98, 1e-9 as in the file's metadata
  Gradients gradients(model->parameters());
  const Tensor losses = file.tensor("losses");
  for (std::int64_t step = 0; step < 3; ++step) {
    gradients.clear();
    Tape tape(gradients);
    autograd::Run run(tape);
    tape.backward(model->loss(batch, run).total);
    adam.step(model->parameters(), gradients, 0.01, 1.0 / static_cast<double>(batch.target.sentences.tokens()));
    autograd::Run inference;
    EXPECT_NEAR(model->loss(batch, inference).total.value().at(0, 0) / losses.at(0, step), 1, tolerance(dtype));
  }
  for (const autograd::ParameterPtr& parameter : model->parameters().list()) {
    // Adam makes steps of any size of a gradient that is nothing but rounding.
    if (is_zero_gradient(parameter->name, model->config())) continue;
    EXPECT_LT(distance(parameter->value, file.tensor("step3." + parameter->name)), tolerance(dtype)) << parameter->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenTraining,
                         testing::Combine(testing::Values("transformer_post_tied", "transformer_post_untied",
                                                          "transformer_pre_tied", "transformer_pre_untied"),
                                          testing::Values(DType::f64, DType::f32)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + tensor::name_of(std::get<1>(info.param));
                         });

TEST(GoldenPositions, ThreeLayouts) {
  const SafeTensorsFile file = golden::open("positions");
  const std::pair<Positions, const char*> layouts[] = {{Positions::interleaved, "interleaved"},
                                                       {Positions::halves_marian, "halves-marian"},
                                                       {Positions::halves, "halves"}};
  for (const auto& [layout, name] : layouts) {
    const Tensor expected = file.tensor(name);
    for (std::int64_t position = 0; position < expected.rows(); ++position) {
      const std::vector<double> row = sinusoid(layout, position, expected.columns());
      for (std::int64_t i = 0; i < expected.columns(); ++i) {
        EXPECT_NEAR(row[static_cast<std::size_t>(i)], expected.at(position, i), 1e-9) << name << " " << position;
      }
    }
  }
}

}  // namespace
}  // namespace zhuyi::nn
