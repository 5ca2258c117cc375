// The bandwidth: from copying the nearest value to the mean of all of them.

#include <fmt/format.h>

#include "nn/estimator.h"

using zhuyi::kernels::Similarity;
using zhuyi::tensor::DType;
using zhuyi::tensor::Tensor;

int main() {
  const Tensor queries = Tensor::of(4, 1, {51, 54, 57, 60}, DType::f64);
  const Tensor keys = Tensor::of(3, 1, {51, 56, 58}, DType::f64);
  const Tensor values = Tensor::of(3, 1, {40, 43, 48}, DType::f64);

  fmt::print("bandwidth   f(51)   f(54)   f(57)   f(60)\n");
  for (const double bandwidth : {0.25, 1.0, 4.0, 1000.0}) {
    const zhuyi::nn::Estimate f = zhuyi::nn::estimate(queries, keys, values, {Similarity::gaussian, bandwidth});
    fmt::print("{:>9}", bandwidth);
    for (int query = 0; query < 4; ++query) fmt::print("  {:>6.2f}", f.values.at(query, 0));
    fmt::print("\n");
  }
}
