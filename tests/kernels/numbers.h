#pragma once
// What the tests of the kernels share: numbers to feed them, comparison with tolerance, a loop over instruction sets.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/matrix.h"
#include "kernels/targets.h"

namespace zhuyi::kernels {

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Normally distributed numbers.
template <class T>
std::vector<T> normals(std::int64_t count, std::uint64_t key, double deviation = 1) {
  base::Random random(key);
  std::vector<T> result(at(count));
  for (T& x : result) x = static_cast<T>(deviation * random.normal());
  return result;
}

template <class T>
std::vector<double> in_double(const std::vector<T>& x) {
  return std::vector<double>(x.begin(), x.end());
}

// std::span deduces nothing from a vector when the callee is a template: these say which it is.
template <class T>
std::span<const T> in(const std::vector<T>& x) {
  return x;
}
template <class T>
std::span<T> out(std::vector<T>& x) {
  return x;
}
template <class T>
Matrix<T> matrix(std::vector<T>& x, std::int64_t rows, std::int64_t columns) {
  return Matrix<T>::dense(x.data(), rows, columns);
}
template <class T>
ConstMatrix<T> matrix(const std::vector<T>& x, std::int64_t rows, std::int64_t columns) {
  return ConstMatrix<T>::dense(x.data(), rows, columns);
}

// |found - expected| <= tolerance * max(1, |expected|) for every element.
template <class T>
void expect_close(const std::vector<T>& found, const std::vector<double>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_LE(std::abs(double{found[i]} - expected[i]), tolerance * std::max(1.0, std::abs(expected[i])))
        << what << ", element " << i << " of " << found.size() << ": " << found[i] << ", expected " << expected[i];
  }
}

// Bit for bit, NaN included.
template <class T>
void expect_same_bits(std::span<const T> found, std::span<const T> expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(std::memcmp(&found[i], &expected[i], sizeof(T)), 0)
        << what << ", element " << i << ": " << found[i] << ", expected " << expected[i];
  }
}

// Calls body(name) with every instruction set in turn.
template <class Body>
void on_every_target(const Body& body) {
  for (const std::string& target : available_targets()) {
    use_target(target);
    body(target);
    if (testing::Test::HasFatalFailure()) break;
  }
  use_target("");
}

// d f / d x[i] for all i, by central differences of step 1e-5. `f` reads x.
template <class F>
std::vector<double> central_differences(std::vector<double>& x, const F& f) {
  constexpr double kStep = 1e-5;
  std::vector<double> slopes;
  for (double& value : x) {
    const double before = value;
    value = before + kStep;
    const double above = f();
    value = before - kStep;
    const double below = f();
    value = before;
    slopes.push_back((above - below) / (2 * kStep));
  }
  return slopes;
}

// sum_i w_i y_i: turns an output into one number whose gradient with respect to y is w.
inline double weighted(const std::vector<double>& w, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += w[i] * y[i];
  return sum;
}

}  // namespace zhuyi::kernels
