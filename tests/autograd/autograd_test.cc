// The tape and the parameters' flat block.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "autograd/run.h"

namespace zhuyi::autograd {
namespace {

using tensor::DType;
using tensor::Tensor;
using Kind = Initialization::Kind;

Parameters three(DType dtype, std::uint64_t seed) {
  Parameters parameters;
  parameters.add("a", 3, 5, {Kind::xavier, 1});
  parameters.add("b", 1, 1, {Kind::constant, 7});
  parameters.add("c", 40, 30, {Kind::normal, 0.5});
  parameters.lay_out(dtype, seed);
  return parameters;
}

TEST(Parameters, LieInOneBlockAligned) {
  const Parameters parameters = three(DType::f32, 1);
  EXPECT_EQ(parameters.count(), 15 + 1 + 1200);
  EXPECT_EQ(parameters.flat().size(), 16 + 16 + 1200);
  std::int64_t end = 0;
  for (const auto& p : parameters.list()) {
    EXPECT_GE(p->offset, end);
    EXPECT_EQ(p->offset % 16, 0);
    EXPECT_EQ(p->value.data<float>().data(), parameters.flat().data<float>().data() + p->offset);
    end = p->offset + p->rows * p->columns;
  }
  EXPECT_EQ(parameters.flat().at(0, 15), 0);  // a gap
  EXPECT_EQ(parameters.find("b")->value.at(0, 0), 7);
  EXPECT_EQ(parameters.find("d"), nullptr);
  Gradients gradients(parameters);
  gradients.of(*parameters.find("b")).fill(3);
  EXPECT_EQ(gradients.flat().at(0, 16), 3);
  gradients.clear();
  EXPECT_EQ(gradients.flat().at(0, 16), 0);
}

TEST(Parameters, FirstValuesAreAFunctionOfSeedAndName) {
  const Parameters one = three(DType::f32, 1);
  const Parameters same = three(DType::f32, 1);
  const Parameters other = three(DType::f32, 2);
  const Parameters wide = three(DType::f64, 1);
  Parameters reordered;
  reordered.add("c", 40, 30, {Kind::normal, 0.5});
  reordered.add("x", 3, 5, {Kind::xavier, 1});
  reordered.lay_out(DType::f32, 1);
  const Tensor c = one.find("c")->value;
  int equal = 0;
  for (std::int64_t i = 0; i < 40; ++i) {
    for (std::int64_t j = 0; j < 30; ++j) {
      EXPECT_EQ(same.find("c")->value.at(i, j), c.at(i, j));
      EXPECT_EQ(wide.find("c")->value.at(i, j), c.at(i, j));
      EXPECT_EQ(reordered.find("c")->value.at(i, j), c.at(i, j));
      equal += other.find("c")->value.at(i, j) == c.at(i, j) ? 1 : 0;
    }
  }
  EXPECT_LT(equal, 3);
  EXPECT_NE(reordered.find("x")->value.at(0, 0), one.find("a")->value.at(0, 0));
}

// Xavier: uniform in +- sqrt(6 / (rows + columns)), so its deviation is sqrt(2 / (rows + columns)).
TEST(Parameters, FirstValuesAreSpreadAsTheyShould) {
  Parameters parameters;
  const ParameterPtr xavier = parameters.add("xavier", 100, 200, {Kind::xavier, 1});
  const ParameterPtr normal = parameters.add("normal", 100, 200, {Kind::normal, 0.25});
  parameters.lay_out(DType::f64, 3);
  const auto deviation = [](const Tensor& tensor, double& largest) {
    double squares = 0;
    for (const double x : tensor.data<double>()) {
      squares += x * x;
      largest = std::max(largest, std::abs(x));
    }
    return std::sqrt(squares / static_cast<double>(tensor.size()));
  };
  double largest = 0;
  EXPECT_NEAR(deviation(xavier->value, largest), std::sqrt(2.0 / 300), 0.002);
  EXPECT_LE(largest, std::sqrt(6.0 / 300) + 1e-7);
  EXPECT_GT(largest, 0.99 * std::sqrt(6.0 / 300));
  largest = 0;
  EXPECT_NEAR(deviation(normal->value, largest), 0.25, 0.006);
  EXPECT_GT(largest, 0.75);
}

TEST(Parameters, AnotherBlockTakesTheirPlace) {
  Parameters parameters = three(DType::f32, 1);
  Tensor block = parameters.flat().clone();
  parameters.find("b")->value.fill(1);
  parameters.adopt(block);
  EXPECT_EQ(parameters.find("b")->value.at(0, 0), 7);
  block.fill(4);
  EXPECT_EQ(parameters.find("c")->value.at(39, 29), 4);
  EXPECT_THROW(parameters.adopt(Tensor::zeros(1, 5)), base::Error);
  EXPECT_THROW(parameters.add("a", 1, 1, {}), base::Error);
  EXPECT_THROW(parameters.add("e", 0, 1, {}), base::Error);
}

// y = 3 x: a little operation of the test's own.
Var tripled(const Var& x, Run& run) {
  Tensor out = x.value().clone();
  for (double& number : out.data<double>()) number *= 3;
  if (!run.recording() || !x.tracked()) return Var(out);
  return run.record(out, [x](const Tensor& dout, Tape& tape) {
    Tensor dx = tape.gradient(x);
    for (std::size_t i = 0; i < dx.data<double>().size(); ++i) dx.data<double>()[i] += 3 * dout.data<double>()[i];
  });
}

class TapeTest : public testing::Test {
 protected:
  Parameters parameters_ = three(DType::f64, 1);
  Gradients gradients_{parameters_};
  Tape tape_{gradients_};
  autograd::Run run_{tape_};
};

TEST_F(TapeTest, GradientsFlowBackThroughEveryUse) {
  const Var x = tape_.variable(Tensor::full(1, 1, 2, DType::f64));
  const Var y = tripled(x, run_);
  const Var unused = tripled(y, run_);
  const Var z = tripled(y, run_);
  EXPECT_TRUE(unused.tracked());
  // loss = z + y, by an operation with two inputs
  const Var loss = run_.record(Tensor::full(1, 1, z.value().at(0, 0) + y.value().at(0, 0), DType::f64),
                               [y, z](const Tensor& dout, Tape& tape) {
                                 tape.gradient(y).data<double>()[0] += dout.at(0, 0);
                                 tape.gradient(z).data<double>()[0] += dout.at(0, 0);
                               });
  EXPECT_EQ(loss.value().at(0, 0), 24);
  tape_.backward(loss);
  EXPECT_EQ(tape_.gradient(x).at(0, 0), 3 * 3 + 3);
}

// The first to write the gradient of x writes over what the memory holds, the others add: 1 + 10 + 100, in any order of
// the ways to do it. A tensor that was given is taken as it is.
TEST_F(TapeTest, TheFirstGradientNeedsNoZeros) {
  const auto number = [](double value) { return Tensor::full(1, 1, value, DType::f64); };
  const auto written = [](Tape& tape, const Var& x, double value) {
    Tape::Destination to = tape.destination(x);
    double& gradient = to.gradient.data<double>()[0];
    gradient = to.add ? gradient + value : value;
  };
  const auto given = [&](Tape& tape, const Var& x, double value) { tape.give(x, number(value)); };
  const auto added = [](Tape& tape, const Var& x, double value) { tape.gradient(x).data<double>()[0] += value; };
  using Way = std::function<void(Tape&, const Var&, double)>;
  const std::vector<Way> ways = {written, given, added};
  for (std::size_t first = 0; first < 3; ++first) {
    const Var x = tape_.variable(number(7));
    double value = 1;
    for (std::size_t i = 0; i < 3; ++i, value *= 10) ways[(first + i) % 3](tape_, x, value);
    EXPECT_EQ(tape_.gradient(x).at(0, 0), 111) << "beginning with way " << first;
  }
  const Var x = tape_.variable(number(7));
  const Tensor gift = number(3);
  tape_.give(x, gift);
  EXPECT_EQ(tape_.gradient(x).data<double>().data(), gift.data<double>().data());
  EXPECT_THROW(tape_.give(x, Tensor::zeros(1, 2, DType::f64)), base::Error);
  EXPECT_THROW(tape_.give(Var(number(1)), number(1)), base::Error);
  EXPECT_THROW(tape_.destination(Var(number(1))), base::Error);
}
TEST_F(TapeTest, ConstantsAreNotRecorded) {
  const Var constant(Tensor::full(1, 1, 2, DType::f64));
  EXPECT_FALSE(tripled(constant, run_).tracked());
  autograd::Run inference;
  EXPECT_FALSE(inference.recording());
  const Var x = tape_.variable(Tensor::full(1, 1, 2, DType::f64));
  EXPECT_FALSE(tripled(x, inference).tracked());
  EXPECT_THROW(tape_.gradient(constant), base::Error);
  EXPECT_THROW(tape_.backward(constant), base::Error);
  EXPECT_THROW(tape_.backward(tape_.variable(Tensor::zeros(1, 2, DType::f64))), base::Error);
}

TEST_F(TapeTest, WhatWasKeptIsFreed) {
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = kept;
  const Var loss = run_.record(Tensor::zeros(1, 1, DType::f64), [kept](const Tensor&, Tape&) {});
  kept.reset();
  EXPECT_FALSE(watch.expired());
  tape_.backward(loss);
  EXPECT_TRUE(watch.expired());
}

TEST_F(TapeTest, DropoutsAreNumbered) {
  autograd::Run run(tape_, 5);
  EXPECT_EQ(run.next_dropout(0).rate, 0);
  const kernels::Dropout first = run.next_dropout(0.1);
  const kernels::Dropout second = run.next_dropout(0.1);
  EXPECT_EQ(first.rate, 0.1);
  EXPECT_NE(first.key, second.key);
  autograd::Run same(tape_, 5);
  EXPECT_EQ(same.next_dropout(0.1).key, first.key);
  autograd::Run other(tape_, 6);
  EXPECT_NE(other.next_dropout(0.1).key, first.key);
  EXPECT_EQ(run_.next_dropout(0.1).rate, 0);
}

}  // namespace
}  // namespace zhuyi::autograd
