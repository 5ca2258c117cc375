// What operations tell a profile: how often they are called, forward and backward, and the work of their products,
// counted by hand.

#include "autograd/profile.h"

#include <gtest/gtest.h>

#include "ops/ops.h"

namespace zhuyi::ops {
namespace {

using autograd::Gradients;
using autograd::Operation;
using autograd::ParameterPtr;
using autograd::Parameters;
using autograd::Pass;
using autograd::Profile;
using autograd::Tape;
using tensor::Tensor;

class ProfiledOperations : public testing::Test {
 protected:
  Profile profile_;

  // Sums the numbers of `out`, and runs everything backwards.
  static void backward(const Var& out, Tape& tape) {
    tape.backward(tape.record(Tensor::zeros(1, 1), [out](const Tensor&, Tape& t) { t.gradient(out).fill(1); }));
  }
  void expect(Operation operation, Pass pass, std::int64_t calls, double flops) {
    const autograd::ProfileEntry& entry = profile_.entry(operation, pass);
    EXPECT_EQ(entry.calls, calls);
    EXPECT_EQ(entry.work.flops, flops);
    EXPECT_GT(entry.seconds, 0);
  }
};

TEST_F(ProfiledOperations, LinearMultipliesOnceForwardAndTwiceBackward) {
  Parameters parameters;
  const Weight weight{parameters.add("weight", 5, 7, {})};
  const ParameterPtr bias = parameters.add("bias", 1, 7, {});
  parameters.lay_out(tensor::DType::f32, 1);
  Gradients gradients(parameters);
  Tape tape(gradients, &profile_);
  autograd::Run run(tape);
  profile_.begin_step();
  backward(linear(tape.variable(Tensor::full(3, 5, 1)), weight, bias, run), tape);
  profile_.end_step();
  expect(Operation::linear, Pass::forward, 1, 2 * 3 * 5 * 7);
  expect(Operation::linear, Pass::backward, 1, 2 * (2 * 3 * 5 * 7));
}

TEST_F(ProfiledOperations, NothingFlowsBackToAConstant) {
  Parameters parameters;
  const Weight weight{parameters.add("weight", 5, 7, {})};
  parameters.lay_out(tensor::DType::f32, 1);
  Gradients gradients(parameters);
  Tape tape(gradients, &profile_);
  autograd::Run run(tape);
  profile_.begin_step();
  backward(linear(Var(Tensor::full(3, 5, 1)), weight, nullptr, run), tape);
  profile_.end_step();
  expect(Operation::linear, Pass::backward, 1, 2 * 3 * 5 * 7);
}

// Sentences of 2 and 3 tokens, 2 heads with keys of 4 and values of 3: 2 x 2 + 3 x 3 = 13 pairs of query and key, or
// 3 + 6 = 9 where the future is hidden; each takes 2 x (4 + 3) multiply-adds in all heads.
TEST_F(ProfiledOperations, AttentionCountsThePairsThatSeeEachOther) {
  const Parameters parameters = [] {
    Parameters none;
    none.add("unused", 1, 1, {});
    none.lay_out(tensor::DType::f32, 1);
    return none;
  }();
  Gradients gradients(parameters);
  const auto work_of = [&](bool causal) {
    auto map = std::make_shared<kernels::AttentionMap>();
    map->blocks = {{0, 2, 0, 2}, {2, 5, 2, 5}};
    map->causal = causal;
    profile_ = Profile();
    Tape tape(gradients, &profile_);
    autograd::Run run(tape);
    AttentionOptions options;
    options.heads = 2;
    const Tensor keys = Tensor::full(5, 8, 1);
    profile_.begin_step();
    backward(
        attention(tape.variable(keys), tape.variable(keys), tape.variable(Tensor::full(5, 6, 1)), map, options, run),
        tape);
    profile_.end_step();
    return profile_.entry(Operation::attention, Pass::forward).work.flops;
  };
  EXPECT_EQ(work_of(false), 2 * 13 * 2 * 7);
  EXPECT_EQ(work_of(true), 2 * 9 * 2 * 7);
  expect(Operation::attention, Pass::backward, 1, 2 * (2 * 9 * 2 * 7));
}

// 300 rows of 40,000 pieces are computed in blocks of 2^24 / 40,000 = 419 rows: one; 900 rows are three.
TEST_F(ProfiledOperations, ProjectionLossCountsItsGradientsAsBackward) {
  Parameters parameters;
  const Weight weight{parameters.add("table", 40000, 4, {}), true};
  parameters.lay_out(tensor::DType::f32, 1);
  Gradients gradients(parameters);
  Tape tape(gradients, &profile_);
  autograd::Run run(tape);
  const std::vector<std::int32_t> targets(900, 3);
  profile_.begin_step();
  tape.backward(projection_loss(tape.variable(Tensor::full(900, 4, 1)), weight, nullptr, targets, {}, run).total);
  profile_.end_step();
  expect(Operation::projection_loss, Pass::forward, 1, 2.0 * 900 * 4 * 40000);
  expect(Operation::projection_loss, Pass::backward, 3 + 1, 2 * 2.0 * 900 * 4 * 40000);
}

TEST_F(ProfiledOperations, OthersAreCountedWithoutWork) {
  Parameters parameters;
  const ParameterPtr gain = parameters.add("gain", 1, 8, {});
  const ParameterPtr bias = parameters.add("bias", 1, 8, {});
  const ParameterPtr table = parameters.add("table", 4, 8, {});
  parameters.lay_out(tensor::DType::f32, 1);
  Gradients gradients(parameters);
  Tape tape(gradients, &profile_);
  autograd::Run run(tape, 1);
  const std::vector<std::int32_t> ids = {0, 3, 3};
  profile_.begin_step();
  Var x = embedding(Weight{table, true}, ids, 1, run);
  x = layer_norm(rms_norm(x, gain, 1e-5, run), gain, bias, 1e-5, run);
  x = dropout(activate(x, Activation::gelu, run), 0.5, run);
  x = multiply(add(x, x, run), add_dropout(x, x, 0.5, run), run);
  backward(x, tape);
  profile_.end_step();
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    expect(Operation::embedding, pass, 1, 0);
    expect(Operation::norm, pass, 2, 0);
    expect(Operation::activation, pass, 1, 0);
    expect(Operation::dropout, pass, 1, 0);
    expect(Operation::residual, pass, 2, 0);
    expect(Operation::gate, pass, 1, 0);
    EXPECT_EQ(profile_.entry(Operation::linear, pass).calls, 0);
  }
}

}  // namespace
}  // namespace zhuyi::ops
