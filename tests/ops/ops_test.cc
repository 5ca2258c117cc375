// What the table of operations does not show: blocks of the projection loss, packed weights, records of attention
// weights, dropout's expectation, and the errors of wrong shapes.

#include "ops/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

namespace zhuyi::ops {
namespace {

using autograd::Gradients;
using autograd::ParameterPtr;
using autograd::Parameters;
using autograd::Tape;
using tensor::DType;
using tensor::Tensor;

Tensor normals(std::int64_t rows, std::int64_t columns, std::uint64_t key, DType dtype = DType::f32) {
  base::Random random(key);
  std::vector<double> numbers(static_cast<std::size_t>(rows * columns));
  for (double& x : numbers) x = random.normal();
  return Tensor::of(rows, columns, numbers, dtype);
}

AttentionOptions heads(std::int64_t count) {
  AttentionOptions options;
  options.heads = count;
  return options;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data<float>().data(), b.data<float>().data(), a.data<float>().size_bytes()) == 0;
}

template <class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::invalid_argument);
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return "";
}

// More rows than one block of logits holds (2^24 numbers): 2,048 rows of 8,192 pieces.
class WideVocabulary : public testing::Test {
 protected:
  static constexpr std::int64_t kRows = 4200;
  static constexpr std::int64_t kWidth = 8;
  static constexpr std::int64_t kPieces = 8192;

  WideVocabulary() {
    parameters_.lay_out(DType::f32, 0);
    table_->value.assign(normals(kPieces, kWidth, 1));
    bias_->value.assign(normals(1, kPieces, 2));
    for (std::int64_t i = 0; i < kRows; ++i) targets_.push_back(static_cast<std::int32_t>(i * 37 % kPieces));
  }

  Parameters parameters_;
  ParameterPtr table_ = parameters_.add("table", kPieces, kWidth, {});
  ParameterPtr bias_ = parameters_.add("bias", 1, kPieces, {});
  Weight weight_{table_, true};
  Tensor x_ = normals(kRows, kWidth, 3);
  std::vector<std::int32_t> targets_;
};

double relative_distance(const Tensor& found, const Tensor& expected) {
  double difference = 0;
  double largest = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    const double value = double{expected.data<float>()[index]};
    difference = std::max(difference, std::abs(double{found.data<float>()[index]} - value));
    largest = std::max(largest, std::abs(value));
  }
  return difference / largest;
}

TEST_F(WideVocabulary, BlocksOfRowsEqualTheWholeMatrix) {
  const kernels::Smoothing smoothing{0.1, kernels::SmoothingForm::marian};
  // The composition, with all logits at once.
  Tensor logits(kRows, kPieces);
  const kernels::ConstMatrix<float> table = weight_.plain()->parameter->value.matrix<float>();
  kernels::gemm<float>(x_.matrix<float>(), table.transposed(), logits.matrix<float>(),
                       {.bias = bias_->value.data<float>().data()});
  Tensor losses(1, kRows);
  Tensor nll(1, kRows);
  kernels::cross_entropy<float>(logits.matrix<float>(), targets_, smoothing, true, losses.data<float>(),
                                nll.data<float>());
  Tensor dx(kRows, kWidth);
  Tensor dw(kPieces, kWidth);
  Tensor db = Tensor::zeros(1, kPieces);
  kernels::gemm<float>(logits.matrix<float>(), table, dx.matrix<float>());
  kernels::gemm<float>(kernels::ConstMatrix<float>(logits.matrix<float>()).transposed(), x_.matrix<float>(),
                       dw.matrix<float>());
  kernels::add_column_sums<float>(logits.matrix<float>(), db.data<float>());

  Gradients gradients(parameters_);
  Tape tape(gradients);
  autograd::Run run(tape);
  const Var x = tape.variable(x_);
  const Loss loss = projection_loss(x, weight_, bias_, targets_, smoothing, run);
  tape.backward(loss.total);
  const std::span<const float> all = losses.data<float>();
  EXPECT_NEAR(loss.total.value().at(0, 0) / std::accumulate(all.begin(), all.end(), 0.0), 1, 1e-6);
  const std::span<const float> plain = nll.data<float>();
  EXPECT_NEAR(loss.nll / std::accumulate(plain.begin(), plain.end(), 0.0), 1, 1e-6);
  EXPECT_TRUE(same_bits(tape.gradient(x), dx));
  EXPECT_LT(relative_distance(gradients.of(*table_), dw), 1e-5);
  EXPECT_LT(relative_distance(gradients.of(*bias_), db), 1e-5);
  EXPECT_TRUE(same_bits(projection_nll(x_, weight_, bias_, targets_), nll));
}

TEST_F(WideVocabulary, ARowDoesNotDependOnTheRowsBesideIt) {
  const Tensor together = projection_nll(x_, weight_, bias_, targets_);
  for (const std::int64_t row : {0, 1, 2047, 2048, 4095, 4096, 4199}) {
    const Tensor alone = projection_nll(x_.slice(row, row + 1), weight_, bias_,
                                        std::span(targets_).subspan(static_cast<std::size_t>(row), 1));
    EXPECT_EQ(alone.at(0, 0), together.at(row, 0)) << row;
  }
}

TEST(Linear, PackedEqualsPlainBitForBit) {
  for (const bool transposed : {false, true}) {
    Parameters parameters;
    const ParameterPtr parameter = parameters.add("w", transposed ? 33 : 65, transposed ? 65 : 33, {});
    const Weight weight{parameter, transposed};
    parameters.lay_out(DType::f32, 0);
    parameter->value.assign(normals(parameter->rows, parameter->columns, 1));
    Weight packed = weight;
    packed.pack();
    for (const std::int64_t rows : {1, 2, 7, 63, 200}) {
      const Var x(normals(rows, 65, 2));
      autograd::Run run;
      EXPECT_TRUE(same_bits(linear(x, weight, nullptr, run).value(), linear(x, packed, nullptr, run).value())) << rows;
    }
  }
}

TEST(Attention, RecordsWhatTheModelSaw) {
  const auto map = std::make_shared<kernels::AttentionMap>();
  map->blocks = {{0, 2, 0, 2}, {2, 3, 2, 3}};
  map->causal = true;
  std::vector<autograd::AttentionRecord> records;
  autograd::Run run;
  run.attention_records = &records;
  const Var x(normals(3, 4, 1, DType::f64));
  attention(x, x, x, map, heads(2), run);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].heads, 2);
  ASSERT_EQ(records[0].weights.size(), 2 * (4 + 1));
  for (const std::int64_t head : {0, 1}) {
    // The first token sees itself alone; softmax over its two scores gives the second token's weights.
    EXPECT_EQ(records[0].weights.at(0, 4 * head), 1);
    EXPECT_EQ(records[0].weights.at(0, 4 * head + 1), 0);
    const Tensor& v = x.value();
    const std::int64_t c = 2 * head;
    const auto score = [&](std::int64_t key) {
      return (v.at(1, c) * v.at(key, c) + v.at(1, c + 1) * v.at(key, c + 1)) / std::sqrt(2.0);
    };
    const double expected = 1 / (1 + std::exp(score(1) - score(0)));
    EXPECT_NEAR(records[0].weights.at(0, 4 * head + 2), expected, 1e-12);
    EXPECT_NEAR(records[0].weights.at(0, 4 * head + 3), 1 - expected, 1e-12);
    EXPECT_EQ(records[0].weights.at(0, 8 + head), 1);
  }
}

// The mean over many keys of dropout(1) is 1: each element is 1/(1-p) with probability 1-p, variance p/(1-p).
TEST(Dropout, KeepsTheExpectation) {
  constexpr double kRate = 0.3;
  constexpr int kKeys = 2000;
  Parameters parameters;
  parameters.add("unused", 1, 1, {});
  parameters.lay_out(DType::f64, 0);
  Gradients gradients(parameters);
  const Tensor ones = Tensor::full(3, 5, 1, DType::f64);
  std::vector<double> sums(15);
  for (int key = 0; key < kKeys; ++key) {
    Tape tape(gradients);
    autograd::Run run(tape, key);
    const Tensor out = dropout(Var(ones), kRate, run).value();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double y = out.data<double>()[i];
      ASSERT_TRUE(y == 0 || std::abs(y - 1 / (1 - kRate)) < 1e-12) << y;
      sums[i] += y;
    }
  }
  const double deviation = std::sqrt(kRate / (1 - kRate) / kKeys);
  for (const double sum : sums) EXPECT_NEAR(sum / kKeys, 1, 4.5 * deviation);
}

TEST(Dropout, IsOffWithoutAKeyAndDiffersFromPlaceToPlace) {
  Parameters parameters;
  parameters.add("unused", 1, 1, {});
  parameters.lay_out(DType::f32, 0);
  Gradients gradients(parameters);
  Tape tape(gradients);
  const Var x(normals(4, 32, 1));
  autograd::Run off(tape);
  EXPECT_TRUE(same_bits(dropout(x, 0.5, off).value(), x.value()));
  autograd::Run run(tape, 7);
  const Tensor first = dropout(x, 0.5, run).value();
  const Tensor second = dropout(x, 0.5, run).value();
  EXPECT_FALSE(same_bits(first, second));
  autograd::Run again(tape, 7);
  EXPECT_TRUE(same_bits(dropout(x, 0.5, again).value(), first));
}

TEST(Errors, NameTheOperationAndTheShapes) {
  using testing::HasSubstr;
  Parameters parameters;
  const ParameterPtr table = parameters.add("table", 4, 3, {});
  parameters.lay_out(DType::f32, 0);
  autograd::Run run;
  const Var x(Tensor::zeros(2, 4));
  const Var narrow(Tensor::zeros(2, 3));
  EXPECT_THAT(message_of([&] { add(x, narrow, run); }), HasSubstr("add: shapes differ, f32[2, 4] and f32[2, 3]"));
  EXPECT_THAT(message_of([&] { multiply(x, narrow, run); }), HasSubstr("multiply"));
  EXPECT_THAT(message_of([&] { add_dropout(x, narrow, 0.1, run); }), HasSubstr("add_dropout"));
  EXPECT_THAT(message_of([&] { linear(narrow, Weight{table}, nullptr, run); }), HasSubstr("table takes 4 columns"));
  for (const std::int32_t id : {-1, 4}) {
    EXPECT_THAT(message_of([&] {
                  embedding(Weight{table, true}, std::vector<std::int32_t>{0, id}, 1, run);
                }),
                HasSubstr("is outside table with 4 rows"));
    const std::vector<std::int32_t> targets = {0, id};
    EXPECT_THAT(message_of([&] {
                  projection_loss(narrow, Weight{table, true}, nullptr, targets, {}, run);
                }),
                HasSubstr("with a vocabulary of 4"));
  }
  const std::vector<std::int32_t> one_target = {0};
  EXPECT_THAT(message_of([&] {
                projection_nll(narrow.value(), Weight{table, true}, nullptr, one_target);
              }),
              HasSubstr("1 targets"));
  EXPECT_THAT(message_of([&] { layer_norm(x, table, table, 1e-6, run); }), HasSubstr("layer_norm"));
  EXPECT_THAT(message_of([&] { rms_norm(x, table, 1e-6, run); }), HasSubstr("rms_norm"));
  const auto map = std::make_shared<kernels::AttentionMap>();
  map->blocks = {{0, 2, 0, 2}};
  EXPECT_THAT(message_of([&] { attention(x, narrow, narrow, map, {}, run); }), HasSubstr("attention: q f32[2, 4]"));
  EXPECT_THAT(message_of([&] { attention(x, x, x, map, heads(3), run); }), HasSubstr("3 heads"));
}

// An f32 value among f64 ones is a defect of the caller's program, not a wrong argument.
TEST(Errors, MixedTypesAreNoticed) {
  autograd::Run run;
  EXPECT_THROW(add(Var(Tensor::zeros(1, 2)), Var(Tensor::zeros(1, 2, DType::f64)), run), base::Error);
}

// Gradients are handed on without a copy where nobody else needs them. Values used twice must still get both parts:
// v = (x + y) + x and w = v y have dw/dx = 2 y and dw/dy = v + y.
TEST(Gradients, OfValuesThatAreUsedTwiceAddUp) {
  Parameters parameters;
  parameters.add("unused", 1, 1, {});
  parameters.lay_out(DType::f64, 1);
  Gradients gradients(parameters);
  for (const bool dropped : {false, true}) {
    Tape tape(gradients);
    autograd::Run run(tape, dropped ? std::optional<std::uint64_t>(5) : std::nullopt);
    const Var x = tape.variable(Tensor::full(1, 1, 3, DType::f64));
    const Var y = tape.variable(Tensor::full(1, 1, 5, DType::f64));
    const Var v = add(add(x, y, run), x, run);
    const Var w = multiply(v, y, run);
    // u = w + dropout(w), where the dropout keeps the number and doubles it, drops it, or is off
    const Var u = add_dropout(w, w, 0.5, run);
    const double factor = u.value().at(0, 0) / w.value().at(0, 0);
    EXPECT_EQ(w.value().at(0, 0), 55);
    EXPECT_TRUE(dropped ? factor == 1 || factor == 3 : factor == 2) << factor;
    tape.backward(u);
    EXPECT_EQ(tape.gradient(x).at(0, 0), factor * 2 * 5);
    EXPECT_EQ(tape.gradient(y).at(0, 0), factor * (11 + 5));
  }
  Tape tape(gradients);
  autograd::Run run(tape);
  const Var x = tape.variable(Tensor::full(1, 1, 3, DType::f64));
  tape.backward(multiply(add(x, x, run), x, run));  // 2 x^2
  EXPECT_EQ(tape.gradient(x).at(0, 0), 12);
}

}  // namespace
}  // namespace zhuyi::ops
