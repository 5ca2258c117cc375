#include "nn/estimator.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/error.h"
#include "ops/ops.h"

namespace zhuyi::nn {
namespace {

using autograd::Var;
using tensor::DType;
using tensor::Tensor;

// `rows` with `origin` [1, d] taken off each.
Tensor relative_to(const Tensor& origin, const Tensor& rows) {
  Tensor result = rows.clone();
  const kernels::Matrix<double> numbers = result.matrix<double>();
  const kernels::ConstMatrix<double> zero = origin.matrix<double>();
  for (std::int64_t i = 0; i < rows.rows(); ++i) {
    for (std::int64_t j = 0; j < rows.columns(); ++j) numbers(i, j) -= zero(0, j);
  }
  return result;
}

bool all_finite(const Tensor& x) {
  return std::ranges::all_of(x.data<double>(), [](double number) { return std::isfinite(number); });
}

}  // namespace

Estimate estimate(const Tensor& queries, const Tensor& keys, const Tensor& values,
                  const kernels::SimilarityOptions& similarity) {
  base::check(queries.dtype() == DType::f64 && keys.dtype() == DType::f64 && values.dtype() == DType::f64,
              "estimate: queries {}, keys {}, values {}; expected f64", queries.shape(), keys.shape(), values.shape());
  base::check(queries.columns() == keys.columns() && keys.rows() == values.rows(),
              "estimate: queries {}, keys {}, values {}; queries must be as wide as keys, and each key needs one value",
              queries.shape(), keys.shape(), values.shape());
  base::check(queries.rows() > 0 && keys.rows() > 0, "estimate: {} queries and {} keys; expected at least one of each",
              queries.rows(), keys.rows());
  base::check(all_finite(queries) && all_finite(keys) && all_finite(values),
              "estimate: a number that is infinite or not a number; expected finite ones");
  // The Gaussian sees differences only, and the kernel multiplies them out. Measured from the first key, large keys
  // that lie close together (years, temperatures in kelvin) keep all their digits.
  const bool differences = similarity.kind == kernels::Similarity::gaussian;
  const Tensor origin = keys.slice(0, 1);
  const Var q(differences ? relative_to(origin, queries) : queries);
  const Var k(differences ? relative_to(origin, keys) : keys);
  const auto everything = std::make_shared<const kernels::AttentionMap>(
      kernels::AttentionMap{.blocks = {{0, queries.rows(), 0, keys.rows()}}, .causal = false, .key_rows = {}});
  std::vector<autograd::AttentionRecord> records;
  autograd::Run run;
  run.attention_records = &records;
  const Var result = ops::attention(q, k, Var(values), everything, {.heads = 1, .similarity = similarity}, run);
  Estimate estimate{result.value(), records.front().weights.reshape(queries.rows(), keys.rows())};
  base::check(all_finite(estimate.weights) && all_finite(estimate.values),
              "estimate: the similarities are too large to compute with; use smaller numbers or, with the gaussian "
              "kernel, a larger bandwidth");
  return estimate;
}

}  // namespace zhuyi::nn
