#include "nn/estimator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"

namespace zhuyi::nn {
namespace {

using kernels::Similarity;
using tensor::DType;
using tensor::Tensor;

Tensor column(const std::vector<double>& numbers) {
  return Tensor::of(static_cast<std::int64_t>(numbers.size()), 1, numbers, DType::f64);
}

TEST(Estimate, IsTheEstimatorOfNadarayaAndWatson) {
  const std::vector<double> keys = {-1, 0.5, 2, 2}, values = {3, -1, 4, 1}, queries = {-2, 0.7, 9};
  const double bandwidth = 0.6;
  const Estimate f = estimate(column(queries), column(keys), column(values), {Similarity::gaussian, bandwidth});
  ASSERT_EQ(f.weights.rows(), 3);
  ASSERT_EQ(f.weights.columns(), 4);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    double sum = 0, weighted = 0;
    std::vector<double> bells;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      bells.push_back(std::exp(-std::pow(queries[i] - keys[j], 2) / (2 * bandwidth * bandwidth)));
      sum += bells[j];
      weighted += bells[j] * values[j];
    }
    const auto row = static_cast<std::int64_t>(i);
    EXPECT_NEAR(f.values.at(row, 0), weighted / sum, 1e-12);
    for (std::size_t j = 0; j < keys.size(); ++j) {
      EXPECT_NEAR(f.weights.at(row, static_cast<std::int64_t>(j)), bells[j] / sum, 1e-12);
    }
  }
}

TEST(Estimate, DependsOnDifferencesOnlyWithTheGaussian) {
  // Moved by a power of two, so that the differences are exactly the same.
  const double far = 0x1p40;
  const Estimate near = estimate(column({1.5}), column({1, 2.25, 4}), column({1, 2, 3}), {Similarity::gaussian, 0.5});
  const Estimate moved = estimate(column({far + 1.5}), column({far + 1, far + 2.25, far + 4}), column({1, 2, 3}),
                                  {Similarity::gaussian, 0.5});
  EXPECT_EQ(near.values.at(0, 0), moved.values.at(0, 0));
}

TEST(Estimate, LeavesItsInputsAsTheyAre) {
  const Tensor queries = column({57}), keys = column({51, 56});
  estimate(queries, keys, column({1, 2}), {Similarity::gaussian});
  EXPECT_EQ(queries.at(0, 0), 57);
  EXPECT_EQ(keys.at(0, 0), 51);
  EXPECT_EQ(keys.at(1, 0), 56);
}

std::string refusal(const Tensor& queries, const Tensor& keys, const Tensor& values,
                    const kernels::SimilarityOptions& similarity) {
  try {
    estimate(queries, keys, values, similarity);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::invalid_argument);
    return error.message();
  }
  return "accepted";
}

TEST(Estimate, RefusesWhatDoesNotFit) {
  using ::testing::HasSubstr;
  const kernels::SimilarityOptions gaussian{Similarity::gaussian};
  EXPECT_THAT(refusal(column({1}), column({}), column({}), gaussian), HasSubstr("0 keys"));
  EXPECT_THAT(refusal(column({}), column({1}), column({1}), gaussian), HasSubstr("0 queries"));
  EXPECT_THAT(refusal(Tensor::zeros(1, 2, DType::f64), column({1}), column({1}), gaussian), HasSubstr("[1, 2]"));
  EXPECT_THAT(refusal(column({1}), column({1, 2}), column({1}), gaussian), HasSubstr("[2, 1]"));
  EXPECT_THAT(refusal(column({1}), column({1}), column({1}), {Similarity::gaussian, 0}), HasSubstr("bandwidth 0"));
  EXPECT_THAT(refusal(Tensor::zeros(1, 1), column({1}), column({1}), gaussian), HasSubstr("expected f64"));
  EXPECT_THAT(refusal(column({1e200}), column({1e200, 1}), column({1, 2}), {Similarity::dot}), HasSubstr("too large"));
  EXPECT_THAT(refusal(column({1}), column({1}), column({std::numeric_limits<double>::infinity()}), gaussian),
              HasSubstr("finite"));
}

}  // namespace
}  // namespace zhuyi::nn
