#pragma once
// Products of matrices that lie in a frame of other numbers, compared with plain loops in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "kernels/gemm.h"
#include "kernels/reference.h"
#include "kernels/targets.h"

namespace zhuyi::kernels {

// Numbers in [-1, 1).
template <class T>
std::vector<T> numbers(std::int64_t count, std::uint64_t key) {
  base::Random random(key);
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& x : result) x = static_cast<T>(2 * random.uniform() - 1);
  return result;
}

// A sum of k terms of size up to `scale` has partial sums of about sqrt(k) and makes about sqrt(k) times one rounding
// error of those; the plain loop in double rounds likewise.
template <class T>
double tolerance(std::int64_t k, double scale) {
  const double rounding = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
  return 2 * rounding * static_cast<double>(k + 8) * std::max(1.0, std::abs(scale));
}

// The bf16 number nearest to x, ties to even, by arithmetic on its bits (IEEE 754 with a fraction of 7 bits).
inline float nearest_bf16(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

enum class Layout { row_major, column_major };

// A matrix as a block inside a bigger one, with numbers around it that nobody may change.
template <class T>
struct Framed {
  static constexpr std::int64_t kMargin = 3;
  std::vector<T> all;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t stride;
  Layout layout;

  Framed(std::int64_t row_count, std::int64_t column_count, Layout order, std::uint64_t key)
      : rows(row_count), columns(column_count), layout(order) {
    stride = (order == Layout::row_major ? columns : rows) + 2 * kMargin;
    const std::int64_t lines = (order == Layout::row_major ? rows : columns) + 2 * kMargin;
    all = numbers<T>(stride * lines, key);
  }
  Matrix<T> view() {
    T* first = all.data() + kMargin * stride + kMargin;
    if (layout == Layout::row_major) return {first, rows, columns, stride, 1};
    return {first, rows, columns, 1, stride};
  }
};

struct Case {
  std::int64_t m, k, n;
  Layout a = Layout::row_major;
  Layout b = Layout::row_major;
  double scale = 1;
  bool bias = false;
  bool accumulate = false;
  Precision precision = Precision::f32;
};

inline std::string describe(const Case& c) {
  return fmt::format("{} {} m {} k {} n {} a {} b {} scale {} bias {} accumulate {}", current_target(),
                     c.precision == Precision::bf16 ? "bf16" : "full", c.m, c.k, c.n, static_cast<int>(c.a),
                     static_cast<int>(c.b), c.scale, c.bias, c.accumulate);
}

// The product and the plain loop agree in c and, exactly, in everything around c.
template <class T>
void expect_equal_to_plain_loop(const Case& sizes) {
  Framed<T> a(sizes.m, sizes.k, sizes.a, 1);
  Framed<T> b(sizes.k, sizes.n, sizes.b, 2);
  Framed<T> c(sizes.m, sizes.n, Layout::row_major, 3);
  const std::vector<T> bias = numbers<T>(sizes.n, 4);
  GemmOptions<T> options;
  options.scale = static_cast<T>(sizes.scale);
  options.bias = sizes.bias ? bias.data() : nullptr;
  options.accumulate = sizes.accumulate;
  options.precision = sizes.precision;
  Framed<T> wanted = c;
  Framed<T> rounded_a = a;
  Framed<T> rounded_b = b;
  if (sizes.precision == Precision::bf16) {
    for (T& x : rounded_a.all) x = nearest_bf16(static_cast<float>(x));
    for (T& x : rounded_b.all) x = nearest_bf16(static_cast<float>(x));
  }
  reference::gemm<T>(rounded_a.view(), rounded_b.view(), wanted.view(), options);
  gemm<T>(a.view(), b.view(), c.view(), options);
  double worst = 0;
  for (std::int64_t i = 0; i < sizes.m; ++i) {
    for (std::int64_t j = 0; j < sizes.n; ++j) {
      const double difference =
          std::abs(static_cast<double>(c.view()(i, j)) - static_cast<double>(wanted.view()(i, j)));
      worst = std::isnan(difference) ? 1e9 : std::max(worst, difference);
      c.view()(i, j) = wanted.view()(i, j);
    }
  }
  EXPECT_LE(worst, tolerance<T>(sizes.k, sizes.scale)) << describe(sizes);
  EXPECT_EQ(c.all, wanted.all) << "numbers around c changed: " << describe(sizes);
}

// The same for every layout and every choice of a few odd sizes.
template <class T>
void try_odd_sizes(Precision precision = Precision::f32) {
  const std::int64_t sizes[] = {1, 2, 7, 17, 63, 65};
  for (const std::int64_t m : sizes) {
    for (const std::int64_t k : sizes) {
      for (const std::int64_t n : sizes) {
        for (const Layout a : {Layout::row_major, Layout::column_major}) {
          for (const Layout b : {Layout::row_major, Layout::column_major}) {
            expect_equal_to_plain_loop<T>({.m = m, .k = k, .n = n, .a = a, .b = b, .precision = precision});
          }
        }
      }
    }
  }
}

// And for sizes beyond one block, with everything that a product can do besides.
template <class T>
void try_big_sizes(Precision precision = Precision::f32) {
  const auto try_size = [&](Case sizes) {
    sizes.precision = precision;
    expect_equal_to_plain_loop<T>(sizes);
  };
  for (const Layout a : {Layout::row_major, Layout::column_major}) {
    for (const Layout b : {Layout::row_major, Layout::column_major}) {
      try_size({.m = 260, .k = 301, .n = 67, .a = a, .b = b});
      try_size({.m = 5, .k = 770, .n = 150, .a = a, .b = b, .scale = 0.25});
      try_size({.m = 127, .k = 4700, .n = 9, .a = a, .b = b, .accumulate = true});
      try_size({.m = 125, .k = 270, .n = 2100, .a = a, .b = b, .bias = true, .accumulate = true});
    }
  }
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

template <class T>
std::vector<T> product(ConstMatrix<T> a, ConstMatrix<T> b, const GemmOptions<T>& options) {
  std::vector<T> c(static_cast<std::size_t>(a.rows * b.columns), T{0.5});
  gemm<T>(a, b, Matrix<T>::dense(c.data(), a.rows, b.columns), options);
  return c;
}

}  // namespace zhuyi::kernels
