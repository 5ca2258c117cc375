// A lookup that weighs: every key counts, the more the nearer it is. By hand, and by the model's attention.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "nn/estimator.h"

using zhuyi::tensor::DType;
using zhuyi::tensor::Tensor;

int main() {
  const std::array<double, 3> keys = {51, 56, 58};
  const std::array<double, 3> values = {40, 43, 48};
  const double query = 57;

  double sum = 0;
  double weighted = 0;
  fmt::print("key  value  similarity  exp(similarity)\n");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const double similarity = -(query - keys[i]) * (query - keys[i]) / 2;
    fmt::print("{:>3}  {:>5}  {:>10}  {:>15.5g}\n", keys[i], values[i], similarity, std::exp(similarity));
    sum += std::exp(similarity);
    weighted += std::exp(similarity) * values[i];
  }
  fmt::print("by hand:   f(57) = {:.7f}\n", weighted / sum);

  const Tensor q = Tensor::of(1, 1, {query}, DType::f64);
  const Tensor k = Tensor::of(3, 1, {51, 56, 58}, DType::f64);
  const Tensor v = Tensor::of(3, 1, {40, 43, 48}, DType::f64);
  const zhuyi::nn::Estimate f = zhuyi::nn::estimate(q, k, v, {zhuyi::kernels::Similarity::gaussian});
  fmt::print("attention: f(57) = {:.7f}\n", f.values.at(0, 0));
  for (int i = 0; i < 3; ++i) fmt::print("weight of key {}: {:.3g}\n", k.at(i, 0), f.weights.at(0, i));
}
