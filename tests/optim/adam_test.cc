// Adam by hand, its state, and clipping. (Three steps of a whole model against PyTorch: tests/nn/golden_test.cc.)

#include "optim/adam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace zhuyi::optim {
namespace {

using tensor::DType;
using tensor::Tensor;

struct Fixture {
  explicit Fixture(DType dtype) {
    a = parameters.add("a", 1, 3, {});
    b = parameters.add("b", 2, 1, {});
    parameters.lay_out(dtype, 0);
    a->value.assign(Tensor::of(1, 3, {1, -2, 0.5}, dtype));
    b->value.assign(Tensor::of(2, 1, {4, 0}, dtype));
  }

  autograd::Parameters parameters;
  autograd::ParameterPtr a;
  autograd::ParameterPtr b;
};

// The first step has m / (1 - b1) = g and v / (1 - b2) = g^2: every parameter moves by the rate against its gradient's
// sign.
TEST(Adam, FirstStepsByHand) {
  Fixture f(DType::f64);
  Adam adam(f.parameters, {});
  autograd::Gradients gradients(f.parameters);
  gradients.of(*f.a).assign(Tensor::of(1, 3, {10, -0.1, 0}, DType::f64));
  gradients.of(*f.b).assign(Tensor::of(2, 1, {1, 2}, DType::f64));
  adam.step(f.parameters, gradients, 0.01, 0.5);
  EXPECT_EQ(adam.steps(), 1);
  EXPECT_NEAR(f.a->value.at(0, 0), 0.99, 1e-9);
  EXPECT_NEAR(f.a->value.at(0, 1), -1.99, 1e-9);
  EXPECT_EQ(f.a->value.at(0, 2), 0.5);
  EXPECT_NEAR(f.b->value.at(0, 0), 3.99, 1e-9);
  // Moments of the scaled gradient 5: 0.1 * 5 and 0.02 * 25.
  EXPECT_NEAR(adam.moment1().at(0, f.a->offset), 0.5, 1e-12);
  EXPECT_NEAR(adam.moment2().at(0, f.a->offset), 0.5, 1e-12);
  // Second step with the gradient 0.5 * 2 = 1 for a[0]: m = 0.9 * 0.5 + 0.1 = 0.55, v = 0.98 * 0.5 + 0.02 = 0.51;
  // m / (1 - 0.81) = 2.894736842, v / (1 - 0.9604) = 12.878787879; 0.01 * 2.894736842 / 3.588702814 = 0.008066248.
  gradients.of(*f.a).assign(Tensor::of(1, 3, {2, 0, 0}, DType::f64));
  adam.step(f.parameters, gradients, 0.01, 0.5);
  EXPECT_NEAR(f.a->value.at(0, 0), 0.99 - 0.008066248, 1e-8);
}

TEST(Adam, DecayIsApartFromTheGradient) {
  Fixture f(DType::f64);
  AdamOptions options;
  options.decay = 0.1;
  Adam adam(f.parameters, options);
  autograd::Gradients zero(f.parameters);
  adam.step(f.parameters, zero, 0.5, 1);
  EXPECT_EQ(f.a->value.at(0, 0), 1);  // one row: a gain or a bias
  EXPECT_NEAR(f.b->value.at(0, 0), 4 - 0.5 * 0.1 * 4, 1e-12);
}

TEST(Adam, RestoredGoesOnAsBefore) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(dtype);
    Fixture g(dtype);
    Adam through(f.parameters, {});
    Adam before(g.parameters, {});
    autograd::Gradients gradients(f.parameters);
    gradients.of(*f.a).assign(Tensor::of(1, 3, {1, 2, -3}, dtype));
    for (int i = 0; i < 3; ++i) through.step(f.parameters, gradients, 0.01, 1);
    before.step(g.parameters, gradients, 0.01, 1);
    Adam after(g.parameters, {});
    after.restore(before.moment1().clone(), before.moment2().clone(), before.steps());
    for (int i = 0; i < 2; ++i) after.step(g.parameters, gradients, 0.01, 1);
    EXPECT_EQ(after.steps(), 3);
    for (std::int64_t i = 0; i < f.parameters.flat().size(); ++i) {
      EXPECT_EQ(g.parameters.flat().at(0, i), f.parameters.flat().at(0, i));
    }
    EXPECT_THROW(after.restore(Tensor::zeros(1, 3, dtype), before.moment2(), 1), base::Error);
  }
}

TEST(Clipping, ByTheNorm) {
  Fixture f(DType::f32);
  autograd::Gradients gradients(f.parameters);
  gradients.of(*f.a).assign(Tensor::of(1, 3, {2, 3, 6}, DType::f32));
  EXPECT_NEAR(gradient_norm(gradients, 1), 7, 1e-6);
  EXPECT_NEAR(gradient_norm(gradients, 0.5), 3.5, 1e-6);
  EXPECT_EQ(clip_factor(7, 10), 1);
  EXPECT_NEAR(clip_factor(7, 3.5), 0.5, 1e-15);
  EXPECT_EQ(clip_factor(7, 0), 1);
  EXPECT_EQ(clip_factor(0, 1), 1);
  // Large numbers do not overflow; what is not a number stays one.
  gradients.of(*f.b).fill(1e30);
  EXPECT_NEAR(gradient_norm(gradients, 1) / (std::sqrt(2.0) * 1e30), 1, 1e-6);
  gradients.of(*f.b).fill(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(std::isnan(gradient_norm(gradients, 1)));
}

}  // namespace
}  // namespace zhuyi::optim
