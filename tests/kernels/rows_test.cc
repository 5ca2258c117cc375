// Row-wise kernels against plain loops in double, at odd shapes, on every instruction set.

#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/numbers.h"
#include "kernels/reference.h"

namespace zhuyi::kernels {
namespace {

constexpr std::int64_t kSizes[] = {1, 2, 7, 17, 63, 65};

template <class T>
constexpr double kTolerance = sizeof(T) == 4 ? 3e-6 : 1e-13;

// Calls body(rows, columns, where) for all shapes on all instruction sets.
template <class Body>
void on_all_shapes(const Body& body) {
  on_every_target([&](const std::string& target) {
    for (const std::int64_t rows : kSizes) {
      for (const std::int64_t columns : kSizes) {
        body(rows, columns, target + " [" + std::to_string(rows) + ", " + std::to_string(columns) + "]");
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TEST(FirstAbove, IsThatOfAPlainLoop) {
  on_every_target([](const std::string& target) {
    std::vector<float> x = normals<float>(300, 3);
    x[150] = std::numeric_limits<float>::quiet_NaN();
    x[299] = 7;
    for (const float limit : {-10.0F, 0.0F, 1.5F, 6.0F, 7.0F, std::numeric_limits<float>::infinity()}) {
      for (std::int64_t begin = 0; begin <= 300; ++begin) {
        std::int64_t expected = begin;
        while (expected < 300 && x[at(expected)] <= limit) ++expected;
        ASSERT_EQ(first_above(x, begin, limit), expected) << target << ", " << begin << ", " << limit;
      }
    }
  });
}

template <class T>
void softmax_equals_reference(std::int64_t rows, std::int64_t columns, const std::string& where) {
  const std::vector<T> x = normals<T>(rows * columns, 1, 4);
  std::vector<T> y = x;
  std::vector<double> y64 = in_double(x);
  softmax(matrix(y, rows, columns));
  reference::softmax(matrix(y64, rows, columns));
  expect_close(y, y64, kTolerance<T>, where + " softmax");
  y = x;
  y64 = in_double(x);
  log_softmax(matrix(y, rows, columns));
  reference::log_softmax(matrix(y64, rows, columns));
  expect_close(y, y64, kTolerance<T>, where + " log_softmax");
}

TEST(Softmax, EqualsReference) {
  on_all_shapes([](std::int64_t rows, std::int64_t columns, const std::string& where) {
    softmax_equals_reference<float>(rows, columns, where + " f32");
    softmax_equals_reference<double>(rows, columns, where + " f64");
  });
}

TEST(Softmax, LargeSmallAndEqualNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  on_every_target([](const std::string& target) {
    // e = 2.718281828: 1 / (1 + e) = 0.268941421.
    std::vector<float> x{10000, 10001, -10000, -kInfinity};
    softmax(matrix(x, 1, 4));
    expect_close(x, {0.268941421, 0.731058579, 0, 0}, 1e-7, target);
    EXPECT_EQ(x[3], 0);
    x.assign(37, -3e38F);
    softmax(matrix(x, 1, 37));
    expect_close(x, std::vector<double>(37, 1.0 / 37), 1e-8, target);
    x = {-20000, 0, -std::numeric_limits<float>::denorm_min()};
    log_softmax(matrix(x, 1, 3));
    expect_close(x, {-20000.693147, -0.693147181, -0.693147181}, 1e-6, target);
    // NaN must not pass for a number, wherever it stands.
    for (std::size_t index = 0; index < 19; ++index) {
      x.assign(19, 1);
      x[index] = std::numeric_limits<float>::quiet_NaN();
      softmax(matrix(x, 1, 19));
      EXPECT_TRUE(std::isnan(x[(index + 1) % 19])) << target << " " << index;
    }
  });
}

template <class T>
struct NormCase {
  std::vector<T> x, gain, bias, dy, out, mean, inverse, dx, dgain, dbias;

  NormCase(std::int64_t rows, std::int64_t columns)
      : x(normals<T>(rows * columns, 2, 3)),
        gain(normals<T>(columns, 3)),
        bias(normals<T>(columns, 4)),
        dy(normals<T>(rows * columns, 5)),
        out(x.size()),
        mean(at(rows)),
        inverse(at(rows)),
        dx(normals<T>(rows * columns, 6)),
        dgain(normals<T>(columns, 7)),
        dbias(normals<T>(columns, 8)) {}

  NormCase<double> in_f64(std::int64_t rows, std::int64_t columns) const {
    NormCase<double> result(rows, columns);
    result.x = in_double(x);
    result.gain = in_double(gain);
    result.bias = in_double(bias);
    result.dy = in_double(dy);
    result.dx = in_double(dx);
    result.dgain = in_double(dgain);
    result.dbias = in_double(dbias);
    return result;
  }
  NormGradients<T> gradients(std::int64_t rows, std::int64_t columns, bool with_bias) {
    return {matrix(std::as_const(dy), rows, columns), matrix(dx, rows, columns), kernels::out(dgain),
            with_bias ? kernels::out(dbias) : std::span<T>()};
  }
};

template <class T>
void norms_equal_reference(std::int64_t rows, std::int64_t columns, const std::string& where) {
  NormCase<T> c(rows, columns);
  NormCase<double> r = c.in_f64(rows, columns);
  // With one or two columns the deviation may be tiny, and a small epsilon would magnify rounding errors.
  const double epsilon = 1e-1;
  const double tolerance = 10 * kTolerance<T>;
  layer_norm<T>(matrix(std::as_const(c.x), rows, columns), c.gain, c.bias, static_cast<T>(epsilon),
                matrix(c.out, rows, columns), c.mean, c.inverse);
  reference::layer_norm<double>(matrix(std::as_const(r.x), rows, columns), r.gain, r.bias,
                                double{static_cast<T>(epsilon)}, matrix(r.out, rows, columns), r.mean, r.inverse);
  expect_close(c.out, r.out, tolerance, where + " layer_norm");
  expect_close(c.mean, r.mean, tolerance, where + " mean");
  expect_close(c.inverse, r.inverse, tolerance, where + " inverse deviation");
  layer_norm_backward<T>(matrix(std::as_const(c.x), rows, columns), c.gain, c.mean, c.inverse,
                         c.gradients(rows, columns, true));
  reference::layer_norm_backward<double>(matrix(std::as_const(r.x), rows, columns), r.gain, r.mean, r.inverse,
                                         r.gradients(rows, columns, true));
  expect_close(c.dx, r.dx, tolerance, where + " dx");
  expect_close(c.dgain, r.dgain, tolerance, where + " dgain");
  expect_close(c.dbias, r.dbias, tolerance, where + " dbias");
  rms_norm<T>(matrix(std::as_const(c.x), rows, columns), c.gain, static_cast<T>(epsilon), matrix(c.out, rows, columns),
              c.inverse);
  reference::rms_norm<double>(matrix(std::as_const(r.x), rows, columns), r.gain, double{static_cast<T>(epsilon)},
                              matrix(r.out, rows, columns), r.inverse);
  expect_close(c.out, r.out, tolerance, where + " rms_norm");
  rms_norm_backward<T>(matrix(std::as_const(c.x), rows, columns), c.gain, c.inverse, c.gradients(rows, columns, false));
  reference::rms_norm_backward<double>(matrix(std::as_const(r.x), rows, columns), r.gain, r.inverse,
                                       r.gradients(rows, columns, false));
  expect_close(c.dx, r.dx, tolerance, where + " rms dx");
  expect_close(c.dgain, r.dgain, tolerance, where + " rms dgain");
  // Without adding, dx is the sum less what was there before.
  NormCase<T> over(rows, columns);
  over.dx.assign(over.dx.size(), std::numeric_limits<T>::quiet_NaN());
  NormGradients<T> gradients = over.gradients(rows, columns, false);
  gradients.add = false;
  rms_norm_backward<T>(matrix(std::as_const(c.x), rows, columns), c.gain, c.inverse, gradients);
  std::fill(r.dx.begin(), r.dx.end(), 0.0);
  reference::rms_norm_backward<double>(matrix(std::as_const(r.x), rows, columns), r.gain, r.inverse,
                                       r.gradients(rows, columns, false));
  expect_close(over.dx, r.dx, tolerance, where + " rms dx written over");
}

TEST(Norm, EqualsReference) {
  on_all_shapes([](std::int64_t rows, std::int64_t columns, const std::string& where) {
    norms_equal_reference<float>(rows, columns, where + " f32");
    norms_equal_reference<double>(rows, columns, where + " f64");
  });
}

// The forward in double is trusted here; the gradients of sum(dy * out) must be its slopes.
TEST(Norm, GradientsEqualCentralDifferences) {
  const std::int64_t rows = 3;
  const std::int64_t columns = 7;
  for (const bool centred : {true, false}) {
    NormCase<double> c(rows, columns);
    const auto loss = [&] {
      if (centred) {
        layer_norm<double>(matrix(std::as_const(c.x), rows, columns), c.gain, c.bias, 1e-5,
                           matrix(c.out, rows, columns), c.mean, c.inverse);
      } else {
        rms_norm<double>(matrix(std::as_const(c.x), rows, columns), c.gain, 1e-5, matrix(c.out, rows, columns),
                         c.inverse);
      }
      return weighted(c.dy, c.out);
    };
    loss();
    for (std::vector<double>* gradient : {&c.dx, &c.dgain, &c.dbias}) std::fill(gradient->begin(), gradient->end(), 0);
    if (centred) {
      layer_norm_backward<double>(matrix(std::as_const(c.x), rows, columns), c.gain, c.mean, c.inverse,
                                  c.gradients(rows, columns, true));
      expect_close(c.dbias, central_differences(c.bias, loss), 1e-6, "dbias");
    } else {
      rms_norm_backward<double>(matrix(std::as_const(c.x), rows, columns), c.gain, c.inverse,
                                c.gradients(rows, columns, false));
    }
    expect_close(c.dx, central_differences(c.x, loss), 1e-6, centred ? "layer dx" : "rms dx");
    expect_close(c.dgain, central_differences(c.gain, loss), 1e-6, centred ? "layer dgain" : "rms dgain");
  }
}

TEST(Norm, ConstantRowGivesTheBias) {
  on_every_target([](const std::string& target) {
    for (const float value : {0.0F, 0.1F, -7.3F}) {
      const std::int64_t columns = 65;
      const std::vector<float> x(at(columns), value), gain(at(columns), 2), bias = normals<float>(columns, 9);
      std::vector<float> y(x.size()), mean(1), inverse(1);
      layer_norm<float>(matrix(x, 1, columns), gain, bias, 1e-5F, matrix(y, 1, columns), mean, inverse);
      // Rounding of the mean, 1e-6, times 1 / sqrt(1e-5) = 316, times the gain.
      expect_close(y, in_double(bias), 1e-3, target);
      EXPECT_NEAR(mean[0], value, 1e-6) << target;
      EXPECT_NEAR(inverse[0], 316.227766, 1e-2) << target;
    }
  });
}

// Logits 0, ln 2, ln 5 have probabilities 1/8, 2/8, 5/8. Target 1, epsilon 0.3, so -log p is ln 8, ln 4, ln 1.6.
// Marian: q = (0.1, 0.8, 0.1); fairseq: q = (0.15, 0.7, 0.15). The gradient is p - q.
TEST(CrossEntropy, ByHand) {
  on_every_target([](const std::string& target) {
    const std::vector<double> logits{0, std::log(2.0), std::log(5.0)};
    struct Case {
      Smoothing smoothing;
      double loss;
      std::vector<double> gradient;
    };
    const std::vector<Case> cases{{{0, SmoothingForm::marian}, std::log(4.0), {0.125, -0.75, 0.625}},
                                  {{0.3, SmoothingForm::marian},
                                   0.1 * std::log(8.0) + 0.8 * std::log(4.0) + 0.1 * std::log(1.6),
                                   {0.025, -0.55, 0.525}},
                                  {{0.3, SmoothingForm::fairseq},
                                   0.15 * std::log(8.0) + 0.7 * std::log(4.0) + 0.15 * std::log(1.6),
                                   {-0.025, -0.45, 0.475}}};
    for (const Case& c : cases) {
      for (const bool gradient : {false, true}) {
        std::vector<double> x = logits, losses(1), nll(1);
        cross_entropy<double>(matrix(x, 1, 3), std::vector<std::int32_t>{1}, c.smoothing, gradient, losses, nll);
        EXPECT_NEAR(losses[0], c.loss, 1e-14) << target;
        EXPECT_NEAR(nll[0], std::log(4.0), 1e-14) << target;
        expect_close(x, gradient ? c.gradient : logits, 1e-14, target);
      }
    }
  });
}

template <class T>
void cross_entropy_equals_reference(std::int64_t rows, std::int64_t columns, const std::string& where) {
  const std::vector<T> x = normals<T>(rows * columns, 10, 3);
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < rows; ++i) targets.push_back(static_cast<std::int32_t>(i * 5 % columns));
  for (const SmoothingForm form : {SmoothingForm::marian, SmoothingForm::fairseq}) {
    for (const bool gradient : {false, true}) {
      std::vector<T> y = x, losses(at(rows)), nll(at(rows));
      std::vector<double> y64 = in_double(x), losses64(at(rows)), nll64(at(rows));
      cross_entropy<T>(matrix(y, rows, columns), targets, {0.1, form}, gradient, losses, nll);
      reference::cross_entropy<double>(matrix(y64, rows, columns), targets, {0.1, form}, gradient, losses64, nll64);
      expect_close(losses, losses64, kTolerance<T>, where + " losses");
      expect_close(nll, nll64, kTolerance<T>, where + " nll");
      expect_close(y, y64, kTolerance<T>, where + " logits");
    }
  }
}

TEST(CrossEntropy, EqualsReference) {
  on_all_shapes([](std::int64_t rows, std::int64_t columns, const std::string& where) {
    cross_entropy_equals_reference<float>(rows, columns, where + " f32");
    cross_entropy_equals_reference<double>(rows, columns, where + " f64");
  });
  cross_entropy_equals_reference<float>(3, 8000, "[3, 8000]");
}

TEST(CrossEntropy, GradientEqualsCentralDifferences) {
  const std::vector<std::int32_t> targets{4, 0, 6};
  for (const SmoothingForm form : {SmoothingForm::marian, SmoothingForm::fairseq}) {
    std::vector<double> x = normals<double>(21, 11), losses(3), nll(3);
    std::vector<double> gradient = x;
    cross_entropy<double>(matrix(gradient, 3, 7), targets, {0.1, form}, true, losses, nll);
    const std::vector<double> slopes = central_differences(x, [&] {
      cross_entropy<double>(matrix(x, 3, 7), targets, {0.1, form}, false, losses, nll);
      return losses[0] + losses[1] + losses[2];
    });
    expect_close(gradient, slopes, 1e-8, "gradient");
  }
}

TEST(CrossEntropy, TargetsOutsideAreRefused) {
  std::vector<float> x(6), losses(2), nll(2);
  EXPECT_THROW(cross_entropy<float>(matrix(x, 2, 3), std::vector<std::int32_t>{0, 3}, {}, true, losses, nll),
               base::Error);
  EXPECT_THROW(cross_entropy<float>(matrix(x, 2, 3), std::vector<std::int32_t>{-1, 0}, {}, true, losses, nll),
               base::Error);
}

template <class T>
void tables_equal_reference(std::int64_t rows, std::int64_t columns, const std::string& where) {
  const std::vector<T> x = normals<T>(rows * columns, 12);
  const std::vector<double> x64 = in_double(x);
  std::vector<T> sums = normals<T>(columns, 13);
  std::vector<double> sums64 = in_double(sums);
  add_column_sums<T>(matrix(x, rows, columns), sums);
  reference::add_column_sums<double>(matrix(x64, rows, columns), sums64);
  expect_close(sums, sums64, 3 * kTolerance<T>, where + " add_column_sums");
  // Rows of the table repeat.
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = 0; i < rows; ++i) numbers.push_back(static_cast<std::int32_t>(i * i % 5));
  std::vector<T> table = normals<T>(5 * columns, 14);
  std::vector<double> table64 = in_double(table);
  std::vector<T> picked(x.size());
  std::vector<double> picked64(x.size());
  gather_rows<T>(matrix(std::as_const(table), 5, columns), numbers, T{1.5}, matrix(picked, rows, columns));
  reference::gather_rows<double>(matrix(std::as_const(table64), 5, columns), numbers, 1.5,
                                 matrix(picked64, rows, columns));
  expect_close(picked, picked64, kTolerance<T>, where + " gather_rows");
  scatter_add_rows<T>(matrix(x, rows, columns), numbers, T{0.75}, matrix(table, 5, columns));
  reference::scatter_add_rows<double>(matrix(x64, rows, columns), numbers, 0.75, matrix(table64, 5, columns));
  expect_close(table, table64, 3 * kTolerance<T>, where + " scatter_add_rows");
}

TEST(Tables, EqualReference) {
  on_all_shapes([](std::int64_t rows, std::int64_t columns, const std::string& where) {
    tables_equal_reference<float>(rows, columns, where + " f32");
    tables_equal_reference<double>(rows, columns, where + " f64");
  });
  std::vector<float> x(3), table(6);
  EXPECT_THROW(gather_rows<float>(matrix(std::as_const(table), 2, 3), std::vector<std::int32_t>{2}, 1, matrix(x, 1, 3)),
               base::Error);
}

// Everything that a row gives, alone and among others, at another address, on one thread and on several.
TEST(Rows, OtherRowsPlacesAndThreadsDoNotMatter) {
  const std::int64_t rows = 130;
  const std::int64_t columns = 259;
  const std::vector<float> x = normals<float>(rows * columns, 15), gain = normals<float>(columns, 16),
                           bias = normals<float>(columns, 17), dy = normals<float>(rows * columns, 18);
  struct Results {
    std::vector<float> normal, probabilities, dx, dgain, dbias, sums, table;
  };
  const std::vector<std::int32_t> all_numbers(at(rows), 1);
  const auto run = [&](std::int64_t first, std::int64_t count, std::int64_t shift) {
    // The rows stand `shift` floats into the memory, with gaps of `shift` between them.
    const std::int64_t stride = columns + shift;
    std::vector<float> memory(at(count * stride + shift));
    const Matrix<float> inputs{memory.data() + shift, count, columns, stride, 1};
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) inputs(i, j) = x[at((first + i) * columns + j)];
    }
    const std::size_t size = at(count * columns);
    Results r{.normal = std::vector<float>(size),
              .probabilities = {},
              .dx = std::vector<float>(size),
              .dgain = std::vector<float>(at(columns)),
              .dbias = std::vector<float>(at(columns)),
              .sums = std::vector<float>(at(columns)),
              .table = std::vector<float>(at(2 * columns))};
    std::vector<float> mean(at(count)), inverse(at(count)), losses(at(count)), nll(at(count));
    layer_norm<float>(inputs, gain, bias, 1e-5F, matrix(r.normal, count, columns), mean, inverse);
    layer_norm_backward<float>(
        inputs, gain, mean, inverse,
        {matrix(dy, rows, columns).block(first, 0, count, columns), matrix(r.dx, count, columns), r.dgain, r.dbias});
    add_column_sums<float>(inputs, r.sums);
    scatter_add_rows<float>(inputs, in(all_numbers).first(at(count)), 1, matrix(r.table, 2, columns));
    cross_entropy<float>(inputs, in(all_numbers).first(at(count)), {0.1, SmoothingForm::marian}, true, losses, nll);
    for (std::int64_t i = 0; i < count; ++i) {
      r.probabilities.insert(r.probabilities.end(), inputs.row(i), inputs.row(i) + columns);
    }
    return r;
  };
  const int before = base::threads();
  on_every_target([&](const std::string& target) {
    base::set_threads(1);
    const Results one = run(0, rows, 0);
    base::set_threads(3);
    const Results three = run(0, rows, 3);
    for (const auto part : {&Results::normal, &Results::probabilities, &Results::dx, &Results::dgain, &Results::dbias,
                            &Results::sums, &Results::table}) {
      expect_same_bits(in(three.*part), in(one.*part), target + " threads");
    }
    const Results alone = run(77, 1, 1);
    for (const auto part : {&Results::normal, &Results::probabilities, &Results::dx}) {
      expect_same_bits(in(alone.*part), in(one.*part).subspan(at(77 * columns), at(columns)), target + " alone");
    }
  });
  base::set_threads(before);
}

}  // namespace
}  // namespace zhuyi::kernels
