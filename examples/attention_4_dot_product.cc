// From distance to dot product: for keys of one length the Gaussian kernel and the dot product weigh alike.

#include <fmt/format.h>

#include "nn/estimator.h"

using zhuyi::kernels::Similarity;
using zhuyi::tensor::DType;
using zhuyi::tensor::Tensor;

void compare(const char* title, const Tensor& keys) {
  const Tensor query = Tensor::of(1, 2, {2, 1}, DType::f64);
  const Tensor gaussian = zhuyi::nn::estimate(query, keys, keys, {Similarity::gaussian}).weights;
  const Tensor dot = zhuyi::nn::estimate(query, keys, keys, {Similarity::dot}).weights;
  fmt::print("{}\n", title);
  for (std::int64_t i = 0; i < keys.rows(); ++i) {
    fmt::print("  key ({}, {}): gaussian {:.3f}, dot {:.3f}\n", keys.at(i, 0), keys.at(i, 1), gaussian.at(0, i),
               dot.at(0, i));
  }
}

int main() {
  compare("query (2, 1), keys of length 5", Tensor::of(3, 2, {5, 0, 4, 3, 0, 5}, DType::f64));
  compare("query (2, 1), keys of lengths 5, 1 and 2", Tensor::of(3, 2, {3, 4, 1, 0, 0, 2}, DType::f64));
}
