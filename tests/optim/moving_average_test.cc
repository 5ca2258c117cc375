// The moving average by hand, its state, and the exchange with the weights.

#include "optim/moving_average.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "optim/optimizers.h"

namespace zhuyi::optim {
namespace {

using tensor::DType;
using tensor::Tensor;

// An optimiser that adds the rate to every weight.
class Adder : public Optimizer {
 public:
  void step(autograd::Parameters& parameters, const autograd::Gradients& /*gradients*/, double rate,
            double /*gradient_scale*/) override {
    ++steps_;
    for (double& number : parameters.flat().data<double>()) number += rate;
  }
  std::vector<StateBlock> state() override { return {}; }
  std::vector<ConstStateBlock> state() const override { return {}; }
  std::int64_t steps() const override { return steps_; }
  void set_steps(std::int64_t steps) override { steps_ = steps; }

 private:
  std::int64_t steps_ = 0;
};

struct Fixture {
  Fixture() {
    a = parameters.add("a", 1, 2, {});
    parameters.lay_out(DType::f64, 0);
    a->value.assign(Tensor::of(1, 2, {11, 0}, DType::f64));
  }
  autograd::Parameters parameters;
  autograd::ParameterPtr a;
};

// Weights 11, 22, 33. Decay of step 1: 2 / 11, so 2 + 18 = 20; of step 2: min(0.2, 3 / 12) = 0.2, so 4 + 26.4 = 30.4.
TEST(MovingAverage, ByHand) {
  Fixture f;
  MovingAverage optimizer(std::make_unique<Adder>(), f.parameters, 0.2);
  const autograd::Gradients gradients(f.parameters);
  EXPECT_EQ(optimizer.average()->at(0, 0), 11);
  optimizer.step(f.parameters, gradients, 11, 1);
  EXPECT_NEAR(optimizer.average()->at(0, 0), 20, 1e-12);
  optimizer.step(f.parameters, gradients, 11, 1);
  EXPECT_NEAR(optimizer.average()->at(0, 0), 30.4, 1e-12);
  EXPECT_EQ(f.a->value.at(0, 0), 33);
  ASSERT_EQ(optimizer.state().size(), 1u);
  EXPECT_EQ(optimizer.state()[0].name, "average");
  EXPECT_EQ(optimizer.steps(), 2);
  {
    const AverageInPlace exchanged(optimizer, f.parameters);
    EXPECT_NEAR(f.a->value.at(0, 0), 30.4, 1e-12);
    EXPECT_EQ(optimizer.average()->at(0, 0), 33);
  }
  EXPECT_EQ(f.a->value.at(0, 0), 33);
  EXPECT_NEAR(optimizer.average()->at(0, 0), 30.4, 1e-12);
}

TEST(MovingAverage, IsMadeWhenItIsWanted) {
  Fixture f;
  OptimizerOptions options;
  const auto plain = make_optimizer(f.parameters, options);
  EXPECT_EQ(plain->average(), nullptr);
  {
    const AverageInPlace nothing(*plain, f.parameters);
    EXPECT_EQ(f.a->value.at(0, 0), 11);
  }
  options.average = 0.99;
  EXPECT_NE(make_optimizer(f.parameters, options)->average(), nullptr);
  options.average = 1;
  EXPECT_THROW(make_optimizer(f.parameters, options), base::Error);
}

}  // namespace
}  // namespace zhuyi::optim
