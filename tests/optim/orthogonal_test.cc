// Newton-Schulz against what it does by definition: the polynomial on each singular value, the vectors left alone.

#include "optim/orthogonal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "tensor/tensor.h"

namespace zhuyi::optim {
namespace {

using tensor::Tensor;
using Columns = std::vector<std::vector<double>>;

// `count` orthonormal vectors of `size` numbers (Gram-Schmidt, twice for accuracy).
Columns orthonormal(std::int64_t count, std::int64_t size, std::uint64_t seed) {
  base::Random random(seed);
  Columns found;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<double> v(static_cast<std::size_t>(size));
    for (double& number : v) number = random.normal();
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (const std::vector<double>& u : found) {
        double dot = 0;
        for (std::size_t j = 0; j < v.size(); ++j) dot += u[j] * v[j];
        for (std::size_t j = 0; j < v.size(); ++j) v[j] -= dot * u[j];
      }
      double square = 0;
      for (const double number : v) square += number * number;
      for (double& number : v) number /= std::sqrt(square);
    }
    found.push_back(v);
  }
  return found;
}

// U S V^T.
Tensor product(const Columns& u, const std::vector<double>& s, const Columns& v, tensor::DType dtype) {
  const auto rows = static_cast<std::int64_t>(u.front().size());
  const auto columns = static_cast<std::int64_t>(v.front().size());
  std::vector<double> values;
  for (std::size_t i = 0; i < u.front().size(); ++i) {
    for (std::size_t j = 0; j < v.front().size(); ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < s.size(); ++k) sum += u[k][i] * s[k] * v[k][j];
      values.push_back(sum);
    }
  }
  return Tensor::of(rows, columns, values, dtype);
}

// s <- 3.4445 s - 4.7750 s^3 + 2.0315 s^5 (Jordan et al., 2024), five times, from s over the matrix' norm.
std::vector<double> iterated(std::vector<double> s) {
  double square = 0;
  for (const double value : s) square += value * value;
  for (double& value : s) {
    value /= std::sqrt(square);
    for (int i = 0; i < 5; ++i) {
      value = 3.4445 * value - 4.7750 * std::pow(value, 3) + 2.0315 * std::pow(value, 5);
    }
  }
  return s;
}

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};

// Square, long and tall; below, at and above the block of 128 rows; long enough for the other way of computing it.
constexpr Shape kShapes[] = {{1, 1},     {1, 9},     {7, 7},     {33, 20}, {128, 128},
                             {130, 131}, {300, 140}, {129, 260}, {64, 256}};

TEST(Orthogonal, EachSingularValueFollowsThePolynomial) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns);
    const std::int64_t rank = std::min(shape.rows, shape.columns);
    const Columns u = orthonormal(rank, shape.rows, 1);
    const Columns v = orthonormal(rank, shape.columns, 2);
    std::vector<double> s;
    for (std::int64_t k = 0; k < rank; ++k) {  // from 5 down to 0, the last one exactly
      s.push_back(rank == 1 ? 5 : 5 * static_cast<double>(rank - 1 - k) / static_cast<double>(rank - 1));
    }
    const Tensor expected = product(u, iterated(s), v, tensor::DType::f64);
    Tensor exact = product(u, s, v, tensor::DType::f64);
    Tensor rounded = exact.to(tensor::DType::f32);
    orthogonalize<double>(exact.matrix<double>(), 5);
    orthogonalize<float>(rounded.matrix<float>(), 5);
    double worst = 0;
    double worst_rounded = 0;
    for (std::int64_t i = 0; i < shape.rows; ++i) {
      for (std::int64_t j = 0; j < shape.columns; ++j) {
        worst = std::max(worst, std::abs(exact.at(i, j) - expected.at(i, j)));
        worst_rounded = std::max(worst_rounded, std::abs(rounded.at(i, j) - expected.at(i, j)));
      }
    }
    EXPECT_LT(worst, 1e-6);  // norm + 1e-7 in the first division, times 3.4445^5
    EXPECT_LT(worst_rounded, 3e-4);
  }
}

TEST(Orthogonal, ThreadsChangeNoBitAndZerosStay) {
  base::Random random(3);
  std::vector<double> values(150 * 400);
  for (double& value : values) value = random.normal();
  Tensor one = Tensor::of(150, 400, values);
  Tensor two = one.clone();
  base::set_threads(1);
  orthogonalize<float>(one.matrix<float>(), 5);
  base::set_threads(2);
  orthogonalize<float>(two.matrix<float>(), 5);
  EXPECT_TRUE(std::ranges::equal(one.data<float>(), two.data<float>()));
  for (Tensor zeros : {Tensor::zeros(5, 6), Tensor::zeros(5, 60)}) {
    orthogonalize<float>(zeros.matrix<float>(), 5);
    for (const float number : zeros.data<float>()) EXPECT_EQ(number, 0);
  }
  EXPECT_THROW(orthogonalize<float>(one.matrix<float>().transposed(), 5), base::Error);
}

}  // namespace
}  // namespace zhuyi::optim
