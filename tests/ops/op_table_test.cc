// Every operation of ops.h, from the one table of op_cases.h: equal to plain loops at odd sizes on every instruction
// set, in float and double, and its gradient equal to central differences.

#include <gtest/gtest.h>

#include <cctype>
#include <cstring>

#include "kernels/targets.h"
#include "op_instance.h"

namespace zhuyi::ops {
namespace {

using autograd::Tape;
using tensor::DType;
using tensor::Tensor;

constexpr std::int64_t kSizes[] = {1, 2, 7, 17, 63, 65};

std::string test_name(const testing::TestParamInfo<OpRow>& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class OpTable : public testing::TestWithParam<OpRow> {
 protected:
  ~OpTable() override { kernels::use_target(""); }
};

// Rounding grows with the numbers that are added up, so errors are relative to the largest element.
void expect_close(const Tensor& found, const std::vector<double>& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), static_cast<std::int64_t>(expected.size())) << what;
  double largest = 1;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  const Tensor numbers = found.to(DType::f64);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_LE(std::abs(numbers.data<double>()[i] - expected[i]), tolerance * largest)
        << what << ", element " << i << ": " << numbers.data<double>()[i] << ", expected " << expected[i];
  }
}

TEST_P(OpTable, EqualsPlainLoops) {
  for (const std::int64_t rows : kSizes) {
    for (const std::int64_t columns : kSizes) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        const OpInstance instance(GetParam().make(rows, columns), dtype, base::combine(1, rows, columns));
        const std::vector<double> expected = instance.expected();
        for (const std::string& target : kernels::available_targets()) {
          kernels::use_target(target);
          Tape tape(instance.gradients());
          const Var out = instance.forward(tape, instance.variables(tape));
          expect_close(out.value(), expected, dtype == DType::f32 ? 1e-5 : 1e-12,
                       fmt::format("{} x {} {} {}", rows, columns, tensor::name_of(dtype), target));
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Without a tape the numbers are the same bit for bit (where no dropout makes the difference).
TEST_P(OpTable, InferenceEqualsTraining) {
  if (GetParam().name.find("dropout") != std::string::npos) return;
  const OpInstance instance(GetParam().make(17, 7), DType::f32, 3);
  Tape tape(instance.gradients());
  const Tensor recorded = instance.forward(tape, instance.variables(tape)).value();
  std::vector<Var> constants;
  for (const Tensor& input : instance.inputs()) constants.emplace_back(input);
  autograd::Run inference;
  const Var out = instance.op().apply(constants, instance.parameters(), inference);
  EXPECT_FALSE(out.tracked());
  ASSERT_EQ(out.value().size(), recorded.size());
  EXPECT_EQ(
      std::memcmp(out.value().data<float>().data(), recorded.data<float>().data(), recorded.data<float>().size_bytes()),
      0);
}

// d loss / d x for every number of `x`, by central differences of step 1e-5.
template <class Loss>
std::vector<double> differences(Tensor x, const Loss& loss) {
  constexpr double kStep = 1e-5;
  std::vector<double> slopes;
  for (double& number : x.data<double>()) {
    const double before = number;
    number = before + kStep;
    const double above = loss();
    number = before - kStep;
    slopes.push_back((above - loss()) / (2 * kStep));
    number = before;
  }
  return slopes;
}

// Relative to the largest number of one gradient: small ones are differences of large numbers.
void expect_gradient(const Tensor& found, const std::vector<double>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), static_cast<std::int64_t>(expected.size())) << what;
  double largest = 1e-3;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LT(std::abs(found.data<double>()[i] - expected[i]) / largest, 1e-6)
        << what << ", element " << i << ": " << found.data<double>()[i] << ", expected " << expected[i];
  }
}

TEST_P(OpTable, GradientEqualsCentralDifferences) {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 1}, {5, 3}, {13, 4}};
  for (const auto& [rows, columns] : sizes) {
    const OpInstance instance(GetParam().make(rows, columns), DType::f64, base::combine(2, rows, columns));
    Tensor weights;
    const auto loss_on = [&](Tape& tape, std::span<const Var> variables) {
      const Var out = instance.forward(tape, variables);
      if (weights.empty()) {
        base::Random random(9);
        weights = Tensor(out.rows(), out.columns(), DType::f64);
        for (double& w : weights.data<double>()) w = instance.op().is_loss ? 1 : random.normal();
      }
      return weighted_sum(out, weights, tape);
    };
    const auto loss = [&] {
      Tape tape(instance.gradients());
      return loss_on(tape, instance.variables(tape)).value().at(0, 0);
    };
    instance.gradients().clear();
    Tape tape(instance.gradients());
    const std::vector<Var> variables = instance.variables(tape);
    tape.backward(loss_on(tape, variables));
    std::vector<Tensor> found;  // before other passes add to them
    for (const ParameterPtr& parameter : instance.parameters()) {
      found.push_back(instance.gradients().of(*parameter).clone());
    }
    for (std::size_t i = 0; i < variables.size(); ++i) {
      expect_gradient(tape.gradient(variables[i]), differences(instance.inputs()[i], loss),
                      fmt::format("{} x {}, input {}", rows, columns, i));
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      expect_gradient(found[i], differences(instance.parameters()[i]->value, loss),
                      fmt::format("{} x {}, parameter {}", rows, columns, i));
    }
  }
}

// Gradients are added to what is there: twice the pass, twice the gradient of a parameter.
TEST_P(OpTable, ParameterGradientsAddUp) {
  const OpInstance instance(GetParam().make(7, 3), DType::f64, 5);
  if (instance.parameters().empty()) return;
  const auto pass = [&] {
    Tape tape(instance.gradients());
    const Var out = instance.forward(tape, instance.variables(tape));
    tape.backward(weighted_sum(out, Tensor::full(out.rows(), out.columns(), 1, DType::f64), tape));
  };
  instance.gradients().clear();
  pass();
  const Tensor once = instance.gradients().flat().clone();
  pass();
  for (std::int64_t i = 0; i < once.size(); ++i) {
    EXPECT_NEAR(instance.gradients().flat().at(0, i), 2 * once.at(0, i), 1e-12 * (1 + std::abs(once.at(0, i))));
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, OpTable, testing::ValuesIn(op_table()), test_name);

}  // namespace
}  // namespace zhuyi::ops
