// Operations that are trained with products in bf16, forward and backward, against plain loops over rounded numbers.

#include <gtest/gtest.h>

#include "kernels/rows.h"
#include "op_cases.h"
#include "storage_cases.h"

namespace zhuyi::ops {
namespace {

using autograd::Gradients;
using autograd::Parameters;
using autograd::Tape;
using tensor::DType;
using tensor::Tensor;

// A matrix of doubles, row after row.
struct Numbers {
  std::int64_t rows;
  std::int64_t columns;
  std::vector<double> values;

  double at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};

Numbers normals(std::int64_t rows, std::int64_t columns, std::uint64_t key) {
  base::Random random(key);
  Numbers numbers{rows, columns, std::vector<double>(static_cast<std::size_t>(rows * columns))};
  for (double& x : numbers.values) x = static_cast<double>(static_cast<float>(random.normal()));
  return numbers;
}

Tensor tensor_of(const Numbers& x) { return Tensor::of(x.rows, x.columns, x.values); }

Numbers numbers_of(const Tensor& x) {
  Numbers numbers{x.rows(), x.columns(), {}};
  for (const float v : x.data<float>()) numbers.values.push_back(static_cast<double>(v));
  return numbers;
}

Numbers transposed(const Numbers& x) {
  Numbers result{x.columns, x.rows, {}};
  for (std::int64_t j = 0; j < x.columns; ++j) {
    for (std::int64_t i = 0; i < x.rows; ++i) result.values.push_back(x.at(i, j));
  }
  return result;
}

// a b, both sides rounded to bf16 or not.
Numbers product(const Numbers& a, const Numbers& b, bool round) {
  const auto number = [&](double x) { return round ? storage_cases::in_bf16(x, 0) : x; };
  Numbers c{a.rows, b.columns, {}};
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k) sum += number(a.at(i, k)) * number(b.at(k, j));
      c.values.push_back(sum);
    }
  }
  return c;
}

// The largest difference, relative to the largest number.
double distance(const Numbers& found, const Numbers& expected) {
  EXPECT_EQ(found.values.size(), expected.values.size());
  double difference = 0;
  double largest = 1e-30;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    difference = std::max(difference, std::abs(found.values[i] - expected.values[i]));
    largest = std::max(largest, std::abs(expected.values[i]));
  }
  return difference / largest;
}

// Within rounding of the product of rounded numbers, and not of that of all their digits.
void expect_bf16(const Numbers& found, const Numbers& a, const Numbers& b, double tolerance, const std::string& what) {
  EXPECT_LT(distance(found, product(a, b, true)), tolerance) << what;
  EXPECT_GT(distance(found, product(a, b, false)), 5 * tolerance) << what << " has more digits than bf16";
}

// (rows, inputs, outputs, transposed)
using Case = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool>;

class InBf16 : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!kernels::has_precision(kernels::Precision::bf16)) GTEST_SKIP() << "this CPU does not multiply bf16";
    parameters_.lay_out(DType::f32, 0);
    table_->value.assign(tensor_of(transposed_ ? transposed(w_) : w_));
    bias_->value.assign(tensor_of(b_));
    weight_.train_in(kernels::Precision::bf16);
    gradients_.emplace(parameters_);
  }

  // dW of the shape [inputs, outputs].
  Numbers weight_gradient() const {
    const Numbers stored = numbers_of(gradients_->of(*table_));
    return transposed_ ? transposed(stored) : stored;
  }

  std::int64_t rows_ = std::get<0>(GetParam());
  std::int64_t inputs_ = std::get<1>(GetParam());
  std::int64_t outputs_ = std::get<2>(GetParam());
  bool transposed_ = std::get<3>(GetParam());
  Numbers x_ = normals(rows_, inputs_, 1);
  Numbers w_ = normals(inputs_, outputs_, 2);
  Numbers b_ = normals(1, outputs_, 3);
  Parameters parameters_;
  ParameterPtr table_ = parameters_.add("w", transposed_ ? outputs_ : inputs_, transposed_ ? inputs_ : outputs_, {});
  ParameterPtr bias_ = parameters_.add("b", 1, outputs_, {});
  Weight weight_{table_, transposed_};
  std::optional<Gradients> gradients_;
};

TEST_P(InBf16, Linear) {
  Tape tape(*gradients_);
  autograd::Run run(tape);
  const Var x = tape.variable(tensor_of(x_));
  const Var y = linear(x, weight_, nullptr, run);
  expect_bf16(numbers_of(y.value()), x_, w_, 1e-6, "y");
  const Numbers dy = normals(rows_, outputs_, 4);
  const Var loss = run.record(Tensor::zeros(1, 1), [&](const Tensor&, Tape& t) { t.give(y, tensor_of(dy)); });
  tape.backward(loss);
  expect_bf16(numbers_of(tape.gradient(x)), dy, transposed(w_), 1e-6, "dx");
  expect_bf16(weight_gradient(), transposed(x_), dy, 1e-6, "dw");
}

// The gradient of the logits is computed in f32 and rounded on its way into the products: where the last bit of f32
// decides how it is rounded, a number moves by 2^-8 of itself.
TEST_P(InBf16, ProjectionLoss) {
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < rows_; ++i) targets.push_back(static_cast<std::int32_t>((5 * i + 2) % outputs_));
  Numbers logits = product(x_, w_, true);
  for (std::int64_t i = 0; i < rows_; ++i) {
    for (std::int64_t j = 0; j < outputs_; ++j)
      logits.values[static_cast<std::size_t>(i * outputs_ + j)] += b_.at(0, j);
  }
  const kernels::Smoothing smoothing{0.1, kernels::SmoothingForm::marian};
  std::vector<double> losses(targets.size());
  std::vector<double> nll(targets.size());
  kernels::reference::cross_entropy<double>(kernels::Matrix<double>::dense(logits.values.data(), rows_, outputs_),
                                            targets, smoothing, true, losses, nll);
  const Numbers& dlogits = logits;
  Tape tape(*gradients_);
  autograd::Run run(tape);
  const Var x = tape.variable(tensor_of(x_));
  const Loss loss = projection_loss(x, weight_, bias_, targets, smoothing, run);
  tape.backward(loss.total);
  double total = 0;
  for (const double value : losses) total += value;
  EXPECT_NEAR(loss.total.value().at(0, 0) / total, 1, 1e-6);
  const Numbers dx = product(dlogits, transposed(w_), true);
  const Numbers dw = product(transposed(x_), dlogits, true);
  EXPECT_LT(distance(numbers_of(tape.gradient(x)), dx), 2e-3);
  EXPECT_LT(distance(weight_gradient(), dw), 2e-3);
  EXPECT_LT(distance(numbers_of(tape.gradient(x)), dx),
            distance(numbers_of(tape.gradient(x)), product(dlogits, transposed(w_), false)));
  EXPECT_LT(distance(weight_gradient(), dw), distance(weight_gradient(), product(transposed(x_), dlogits, false)));
  Numbers db{1, outputs_, std::vector<double>(static_cast<std::size_t>(outputs_))};
  for (std::int64_t i = 0; i < rows_; ++i) {
    for (std::int64_t j = 0; j < outputs_; ++j) db.values[static_cast<std::size_t>(j)] += dlogits.at(i, j);
  }
  EXPECT_LT(distance(numbers_of(gradients_->of(*bias_)), db), 1e-5) << "sums of columns are not rounded";
}

INSTANTIATE_TEST_SUITE_P(Rows, InBf16,
                         testing::Combine(testing::Values(7, 65), testing::Values(17, 64), testing::Values(33, 128),
                                          testing::Bool()),
                         [](const auto& info) {
                           return fmt::format("{}x{}x{}{}", std::get<0>(info.param), std::get<1>(info.param),
                                              std::get<2>(info.param), std::get<3>(info.param) ? "_transposed" : "");
                         });

}  // namespace
}  // namespace zhuyi::ops
