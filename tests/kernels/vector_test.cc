// Element-wise kernels against plain loops in double, at odd lengths, on every instruction set.

#include "kernels/vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/numbers.h"
#include "kernels/reference.h"
#include "kernels/serial.h"

namespace zhuyi::kernels {
namespace {

// The last one takes several pieces of work.
constexpr std::int64_t kLengths[] = {1, 2, 7, 17, 63, 65, 40001};
constexpr Activation kActivations[] = {Activation::identity, Activation::relu, Activation::gelu, Activation::silu};

// A few rounding errors.
template <class T>
constexpr double kTolerance = sizeof(T) == 4 ? 1e-6 : 1e-14;

template <class T>
void sums_equal_reference(std::int64_t n, const std::string& where) {
  const std::vector<T> x = normals<T>(n, 1);
  const std::vector<T> y = normals<T>(n, 2);
  const std::vector<double> x64 = in_double(x);
  const std::vector<double> y64 = in_double(y);
  std::vector<T> z = normals<T>(n, 3);
  std::vector<double> z64 = in_double(z);
  add(in(x), in(y), out(z));
  reference::add(in(x64), in(y64), out(z64));
  expect_close(z, z64, kTolerance<T>, where + " add");
  add_scaled(T{0.75}, in(x), out(z));
  reference::add_scaled(0.75, in(x64), out(z64));
  expect_close(z, z64, kTolerance<T>, where + " add_scaled");
  scale(T{-1.25}, out(z));
  reference::scale(-1.25, out(z64));
  expect_close(z, z64, kTolerance<T>, where + " scale");
  add_product(in(x), in(y), out(z));
  reference::add_product(in(x64), in(y64), out(z64));
  expect_close(z, z64, 2 * kTolerance<T>, where + " add_product");
  multiply(in(x), in(y), out(z));
  reference::multiply(in(x64), in(y64), out(z64));
  expect_close(z, z64, kTolerance<T>, where + " multiply");
  EXPECT_NEAR(sum(in(x)), reference::sum(in(x64)), 1e-10) << where;
  EXPECT_NEAR(sum_of_squares(in(x)) / reference::sum_of_squares(in(x64)), 1, 1e-13) << where;
}

TEST(Vector, SumsAndProductsEqualReference) {
  on_every_target([](const std::string& target) {
    for (const std::int64_t n : kLengths) {
      const std::string where = target + " " + std::to_string(n);
      sums_equal_reference<float>(n, where + " f32");
      sums_equal_reference<double>(n, where + " f64");
    }
  });
}

template <class T>
void activation_equals_reference(Activation activation, std::int64_t n, const std::string& where) {
  const std::vector<T> x = normals<T>(n, 4, 3);
  const std::vector<T> dy = normals<T>(n, 5);
  const std::vector<double> x64 = in_double(x);
  const std::vector<double> dy64 = in_double(dy);
  std::vector<T> y(at(n));
  std::vector<double> y64(at(n));
  activate(activation, in(x), out(y));
  reference::activate(activation, in(x64), out(y64));
  expect_close(y, y64, kTolerance<T>, where + " activate");
  y = x;
  activate(activation, in(y), out(y));
  expect_close(y, y64, kTolerance<T>, where + " activate in place");
  std::vector<T> dx = normals<T>(n, 6);
  std::vector<double> dx64 = in_double(dx);
  activate_backward(activation, in(x), in(dy), out(dx));
  reference::activate_backward(activation, in(x64), in(dy64), out(dx64));
  expect_close(dx, dx64, 4 * kTolerance<T>, where + " activate_backward");
  dx.assign(at(n), std::numeric_limits<T>::quiet_NaN());
  std::fill(dx64.begin(), dx64.end(), 0.0);
  activate_backward(activation, in(x), in(dy), out(dx), false);
  reference::activate_backward(activation, in(x64), in(dy64), out(dx64));
  expect_close(dx, dx64, 4 * kTolerance<T>, where + " activate_backward written over");
}

TEST(Vector, ActivationsEqualReference) {
  on_every_target([](const std::string& target) {
    for (const Activation activation : kActivations) {
      for (const std::int64_t n : kLengths) {
        const std::string where =
            target + " activation " + std::to_string(static_cast<int>(activation)) + " of " + std::to_string(n);
        activation_equals_reference<float>(activation, n, where + " f32");
        activation_equals_reference<double>(activation, n, where + " f64");
      }
    }
  });
}

// Phi(1) = 0.841344746068543, Phi(-5) = 2.86651571879194e-7 (tables of the normal distribution); 1 / (1 + 1/e) =
// 0.731058578630005; 1 / (1 + e^20) = 2.06115361819020e-9. The tails count: relative, not absolute, error.
TEST(Vector, ActivationsOfKnownNumbers) {
  on_every_target([](const std::string& target) {
    const std::vector<float> x{1, -1, -5, -20, 0, 30};
    std::vector<float> y(x.size());
    activate(Activation::gelu, in(x), out(y));
    EXPECT_NEAR(y[0], 0.841344746, 1.5e-7) << target;
    EXPECT_NEAR(y[1], -0.158655254, 8e-8) << target;
    EXPECT_NEAR(y[2] / -1.43325786e-6, 1, 2e-6) << target;
    EXPECT_EQ(y[4], 0) << target;
    EXPECT_EQ(y[5], 30) << target;
    activate(Activation::silu, in(x), out(y));
    EXPECT_NEAR(y[0], 0.731058579, 1e-7) << target;
    EXPECT_NEAR(y[3] / -4.12230724e-8, 1, 1e-6) << target;
    EXPECT_EQ(y[5], 30) << target;
  });
}

// A diverged training must show: no kernel may turn NaN into a number.
TEST(Vector, NanStaysNan) {
  on_every_target([](const std::string& target) {
    std::vector<float> x(9, std::numeric_limits<float>::quiet_NaN());
    for (const Activation activation : kActivations) {
      std::vector<float> y(x.size());
      activate(activation, in(x), out(y));
      for (const float value : y) EXPECT_TRUE(std::isnan(value)) << target << static_cast<int>(activation);
    }
  });
}

TEST(Vector, ActivationGradientsEqualCentralDifferences) {
  std::vector<double> x{-4.1, -2.3, -0.7, -0.2, 0.3, 1.1, 2.9, 5.2};
  const std::vector<double> dy = normals<double>(8, 7);
  for (const Activation activation : kActivations) {
    std::vector<double> dx(x.size());
    activate_backward(activation, in(x), in(dy), out(dx));
    const std::vector<double> slopes = central_differences(x, [&] {
      std::vector<double> y(x.size());
      activate(activation, in(x), out(y));
      return weighted(dy, y);
    });
    expect_close(dx, slopes, 1e-8, "activation " + std::to_string(static_cast<int>(activation)));
  }
}

// An element's result may not depend on whether it stands in a whole vector or in the last, shorter one.
template <class T>
void end_does_not_matter(const std::string& where) {
  constexpr std::int64_t kMost = 65;
  const std::vector<T> x = normals<T>(kMost, 8, 2);
  const std::vector<T> dy = normals<T>(kMost, 9);
  const std::vector<T> start = normals<T>(kMost, 10);
  const std::vector<T> moment2(at(kMost), static_cast<T>(0.3));
  const AdamStep step{.rate = 0.1, .correction1 = 0.19, .correction2 = 0.04, .decay = 0.01, .gradient_scale = 0.7};
  const auto all = [&](std::int64_t n) {
    const std::size_t count = at(n);
    std::vector<std::vector<T>> results;
    for (const Activation activation : kActivations) {
      results.emplace_back(count);
      activate(activation, in(x).first(count), out(results.back()));
      results.push_back({start.begin(), start.begin() + n});
      activate_backward(activation, in(x).first(count), in(dy).first(count), out(results.back()));
    }
    std::vector<T> m{start.begin(), start.begin() + n};
    std::vector<T> v{moment2.begin(), moment2.begin() + n};
    std::vector<T> p{x.begin(), x.begin() + n};
    adam(step, in(dy).first(count), out(m), out(v), out(p));
    results.insert(results.end(), {m, v, p});
    return results;
  };
  const std::vector<std::vector<T>> whole = all(kMost);
  for (std::int64_t n = 1; n < kMost; ++n) {
    const std::vector<std::vector<T>> part = all(n);
    for (std::size_t k = 0; k < whole.size(); ++k) {
      expect_same_bits(in(part[k]), in(whole[k]).first(at(n)), where + " result " + std::to_string(k));
    }
  }
}

TEST(Vector, WhereTheEndIsDoesNotMatter) {
  on_every_target([](const std::string& target) {
    end_does_not_matter<float>(target + " f32");
    end_does_not_matter<double>(target + " f64");
  });
}

template <class T>
void mask_is_keeps(const std::string& where) {
  const Dropout options{.rate = 0.3, .key = 0x0123456789abcdefu};
  for (const std::int64_t n : kLengths) {
    const std::vector<T> x = normals<T>(n, 11);
    const std::vector<double> x64 = in_double(x);
    std::vector<T> y(at(n));
    std::vector<double> y64(at(n));
    dropout(options, in(x), out(y));
    reference::dropout(options, in(x64), out(y64));
    expect_close(y, y64, kTolerance<T>, where + " dropout");
    y = x;
    y64 = x64;
    add_dropout(options, in(x), out(y));
    reference::add_dropout(options, in(x64), out(y64));
    expect_close(y, y64, kTolerance<T>, where + " add_dropout");
    y.assign(at(n), std::numeric_limits<T>::quiet_NaN());
    residual(options, in(x), in(x), out(y));
    expect_close(y, y64, kTolerance<T>, where + " residual");
  }
  // Across the index where the number of the element passes 2^32.
  const std::int64_t first = (std::int64_t{1} << 32) - 21;
  const std::vector<T> ones(43, T{1});
  std::vector<T> y(ones.size());
  vector_kernels<T>().dropout(options, first, ones.data(), y.data(), 43);
  for (std::int64_t i = 0; i < 43; ++i) EXPECT_EQ(y[at(i)] != 0, keeps(options, first + i)) << where << " " << i;
}

TEST(Dropout, MaskIsTheSameOnEveryTargetAndForBothTypes) {
  on_every_target([](const std::string& target) {
    mask_is_keeps<float>(target + " f32");
    mask_is_keeps<double>(target + " f64");
  });
}

constexpr std::int64_t kDraws = 1 << 20;

// The correlation of two masks: normal with deviation 1 / sqrt(kDraws) = 0.001 if they are independent.
double correlation(const Dropout& a, std::int64_t shift_a, const Dropout& b, std::int64_t shift_b) {
  std::int64_t both = 0;
  std::int64_t in_a = 0;
  std::int64_t in_b = 0;
  for (std::int64_t i = 0; i < kDraws; ++i) {
    const bool first = keeps(a, i + shift_a);
    const bool second = keeps(b, i + shift_b);
    in_a += first;
    in_b += second;
    both += first && second;
  }
  const double n = static_cast<double>(kDraws);
  const double p = static_cast<double>(in_a) / n;
  const double q = static_cast<double>(in_b) / n;
  return (static_cast<double>(both) / n - p * q) / std::sqrt(p * (1 - p) * q * (1 - q));
}

TEST(Dropout, KeepsTheRightShare) {
  for (const double rate : {0.0, 0.1, 0.3, 0.5, 0.9}) {
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < kDraws; ++i) kept += keeps({.rate = rate, .key = 99}, i);
    // Five standard deviations of a binomial share.
    const double tolerance = 5 * std::sqrt(rate * (1 - rate) / static_cast<double>(kDraws));
    EXPECT_NEAR(static_cast<double>(kept) / static_cast<double>(kDraws), 1 - rate, tolerance) << rate;
  }
}

TEST(Dropout, NeighboursAndNearKeysAreUncorrelated) {
  for (const double rate : {0.1, 0.5}) {
    const Dropout here{.rate = rate, .key = 12345};
    for (const std::int64_t lag : {1, 2, 3, 4, 8, 16, 64, 512, 4096, 65536}) {
      EXPECT_LT(std::abs(correlation(here, 0, here, lag)), 0.005) << "rate " << rate << ", lag " << lag;
    }
    for (const std::uint64_t difference :
         {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 63}) {
      const Dropout there{.rate = rate, .key = here.key ^ difference};
      for (const std::int64_t lag : {0, 1, 2}) {
        EXPECT_LT(std::abs(correlation(here, 0, there, lag)), 0.005) << "rate " << rate << ", key ^ " << difference;
      }
    }
    EXPECT_LT(std::abs(correlation(here, 0, here, std::int64_t{1} << 32)), 0.005) << "2^32 apart";
  }
}

// With beta1 1/2, beta2 3/4, epsilon 1, rate 1/10, p = 1 and gradients 2, -2:
// step 1: m = 1, v = 1, m/c1 = 2, v/c2 = 4, p = 1 - (2 / (2 + 1)) / 10 = 14/15.
// step 2: m = 1/2 - 1 = -1/2, v = 3/4 + 1 = 7/4, c1 = 3/4, c2 = 7/16, m/c1 = -2/3, v/c2 = 4, p = 14/15 + 2/90 = 43/45.
template <class T>
void adam_by_hand(const std::string& where) {
  const double tolerance = sizeof(T) == 4 ? 1e-7 : 1e-15;
  AdamStep step{.rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 1, .correction1 = 0.5, .correction2 = 0.25};
  std::vector<T> m(3), v(3), p(3, T{1});
  adam(step, in(std::vector<T>(3, T{2})), out(m), out(v), out(p));
  for (const T value : p) EXPECT_NEAR(value, 14.0 / 15, tolerance) << where;
  step.correction1 = 0.75;
  step.correction2 = 0.4375;
  adam(step, in(std::vector<T>(3, T{-2})), out(m), out(v), out(p));
  for (const T value : p) EXPECT_NEAR(value, 43.0 / 45, tolerance) << where;
  for (const T value : m) EXPECT_NEAR(value, -0.5, tolerance) << where;
  for (const T value : v) EXPECT_NEAR(value, 1.75, tolerance) << where;
  // Gradient 4 times 1/2 is the first step again; decay 1/2 takes 1/10 * 1/2 * 1 more.
  step = {.rate = 0.1,
          .beta1 = 0.5,
          .beta2 = 0.75,
          .epsilon = 1,
          .correction1 = 0.5,
          .correction2 = 0.25,
          .decay = 0.5,
          .gradient_scale = 0.5};
  m.assign(3, 0);
  v.assign(3, 0);
  p.assign(3, 1);
  adam(step, in(std::vector<T>(3, T{4})), out(m), out(v), out(p));
  for (const T value : p) EXPECT_NEAR(value, 14.0 / 15 - 0.05, tolerance) << where;
}

TEST(Adam, TwoStepsByHand) {
  on_every_target([](const std::string& target) {
    adam_by_hand<float>(target + " f32");
    adam_by_hand<double>(target + " f64");
  });
}

TEST(Adam, EqualsReference) {
  on_every_target([](const std::string& target) {
    const AdamStep step{.rate = 0.01, .correction1 = 0.1, .correction2 = 0.02, .decay = 0.1, .gradient_scale = 0.5};
    for (const std::int64_t n : kLengths) {
      const std::vector<float> g = normals<float>(n, 12);
      std::vector<float> m = normals<float>(n, 13), v(at(n), 0.5F), p = normals<float>(n, 14);
      std::vector<double> m64 = in_double(m), v64 = in_double(v), p64 = in_double(p);
      const std::vector<double> g64 = in_double(g);
      adam(step, in(g), out(m), out(v), out(p));
      reference::adam(step, in(g64), out(m64), out(v64), out(p64));
      expect_close(m, m64, 1e-6, target);
      expect_close(v, v64, 1e-6, target);
      expect_close(p, p64, 1e-6, target);
    }
  });
}

TEST(Vector, ThreadsDoNotMatter) {
  const std::vector<float> x = normals<float>(200001, 15);
  const int before = base::threads();
  std::vector<double> sums;
  for (const int threads : {1, 2, 5}) {
    base::set_threads(threads);
    sums.push_back(sum(in(x)));
    sums.push_back(sum_of_squares(in(x)));
  }
  base::set_threads(before);
  EXPECT_EQ(sums[0], sums[2]);
  EXPECT_EQ(sums[0], sums[4]);
  EXPECT_EQ(sums[1], sums[3]);
  EXPECT_EQ(sums[1], sums[5]);
}

TEST(Vector, SpansOfDifferentLengthAreRefused) {
  std::vector<float> three(3), four(4);
  EXPECT_THROW(add(in(three), in(four), out(three)), base::Error);
  EXPECT_THROW(activate(Activation::relu, in(three), out(four)), base::Error);
  EXPECT_THROW(dropout({.rate = 1}, in(three), out(three)), base::Error);
}

}  // namespace
}  // namespace zhuyi::kernels
