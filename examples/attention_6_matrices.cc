// All queries at once: softmax(Q K^T / sqrt(d_k)) V, in plain loops and by the model's own operation.

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <vector>

#include "ops/ops.h"

using zhuyi::autograd::Run;
using zhuyi::autograd::Var;
using zhuyi::kernels::AttentionMap;
using zhuyi::tensor::DType;
using zhuyi::tensor::Tensor;

void print(const char* name, const Tensor& x) {
  fmt::print("{} [{}, {}]\n", name, x.rows(), x.columns());
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    for (std::int64_t j = 0; j < x.columns(); ++j) fmt::print("  {:>6.3f}", x.at(i, j));
    fmt::print("\n");
  }
}

int main() {
  const Tensor q = Tensor::of(2, 4, {1, 0, 1, 0, 0, 2, 0, 2}, DType::f64);
  const Tensor k = Tensor::of(3, 4, {1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1}, DType::f64);
  const Tensor v = Tensor::of(3, 2, {10, 0, 0, 10, 5, 5}, DType::f64);

  Tensor weights = Tensor::zeros(2, 3, DType::f64);
  for (int i = 0; i < 2; ++i) {
    double sum = 0;
    for (int j = 0; j < 3; ++j) {
      double product = 0;
      for (int c = 0; c < 4; ++c) product += q.at(i, c) * k.at(j, c);
      weights.matrix<double>()(i, j) = std::exp(product / std::sqrt(4.0));
      sum += weights.at(i, j);
    }
    for (int j = 0; j < 3; ++j) weights.matrix<double>()(i, j) /= sum;
  }
  print("weights = softmax(Q K^T / sqrt(4))", weights);

  Tensor output = Tensor::zeros(2, 2, DType::f64);
  for (int i = 0; i < 2; ++i) {
    for (int c = 0; c < 2; ++c) {
      for (int j = 0; j < 3; ++j) output.matrix<double>()(i, c) += weights.at(i, j) * v.at(j, c);
    }
  }
  print("weights V, in plain loops", output);

  // Queries 0 and 1 see keys 0, 1 and 2.
  const auto map =
      std::make_shared<const AttentionMap>(AttentionMap{.blocks = {{0, 2, 0, 3}}, .causal = false, .key_rows = {}});
  Run run;
  print("ops::attention(Q, K, V)", zhuyi::ops::attention(Var(q), Var(k), Var(v), map, {}, run).value());
}
