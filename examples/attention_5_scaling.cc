// Why the dot product is divided by sqrt(d_k): without that, wide vectors make one key win everything.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "nn/estimator.h"

using zhuyi::kernels::Similarity;
using zhuyi::tensor::DType;
using zhuyi::tensor::Tensor;

// Every number drawn from the normal distribution with mean 0 and variance 1.
Tensor random_rows(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  zhuyi::base::Random random(seed);
  std::vector<double> numbers(static_cast<std::size_t>(rows * columns));
  for (double& number : numbers) number = random.normal();
  return Tensor::of(rows, columns, numbers, DType::f64);
}

// The largest of a query's weights, averaged over the queries.
double mean_largest(const Tensor& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < weights.rows(); ++i) sum += std::ranges::max(weights.slice(i, i + 1).data<double>());
  return sum / static_cast<double>(weights.rows());
}

int main() {
  constexpr int count = 400;
  constexpr int keys = 8;
  fmt::print(" d_k   variance of q.k   of q.k / sqrt(d_k)   largest weight   when scaled\n");
  for (const int d_k : {4, 16, 64, 256, 1024}) {
    const Tensor q = random_rows(count, d_k, 1);
    const Tensor k = random_rows(keys, d_k, 2);
    double squares = 0;
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < keys; ++j) {
        double product = 0;
        for (int c = 0; c < d_k; ++c) product += q.at(i, c) * k.at(j, c);
        squares += product * product;  // the mean is 0
      }
    }
    const double variance = squares / (count * keys);
    const double plain = mean_largest(zhuyi::nn::estimate(q, k, k, {Similarity::dot}).weights);
    const double scaled = mean_largest(zhuyi::nn::estimate(q, k, k, {Similarity::scaled_dot}).weights);
    fmt::print("{:>4} {:>17.1f} {:>20.2f} {:>16.2f} {:>13.2f}\n", d_k, variance, variance / d_k, plain, scaled);
  }
}
