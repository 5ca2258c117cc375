#include "kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace zhuyi::kernels::reference {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
T sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

// The standard normal distribution function.
template <class T>
T normal_cdf(T x) {
  return std::erfc(-x / std::numbers::sqrt2_v<T>) / 2;
}

template <class T>
T value(Activation activation, T x) {
  switch (activation) {
    case Activation::identity:
      return x;
    case Activation::relu:
      return x > 0 ? x : T{0};
    case Activation::gelu:
      return x * normal_cdf(x);
    case Activation::silu:
      return x * sigmoid(x);
  }
  return x;
}

template <class T>
T slope(Activation activation, T x) {
  switch (activation) {
    case Activation::identity:
      return 1;
    case Activation::relu:
      return x > 0 ? T{1} : T{0};
    case Activation::gelu: {
      const T density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<T>);
      return normal_cdf(x) + x * density;
    }
    case Activation::silu: {
      const T s = sigmoid(x);
      return s + x * s * (1 - s);
    }
  }
  return 1;
}

}  // namespace

template <class T>
void add(std::span<const T> x, std::span<const T> y, std::span<T> out) {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i] + y[i];
}

template <class T>
void add_scaled(T scale, std::span<const T> x, std::span<T> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += scale * x[i];
}

template <class T>
void scale(T factor, std::span<T> x) {
  for (T& value : x) value *= factor;
}

template <class T>
void multiply(std::span<const T> x, std::span<const T> y, std::span<T> out) {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = x[i] * y[i];
}

template <class T>
void add_product(std::span<const T> x, std::span<const T> y, std::span<T> out) {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] += x[i] * y[i];
}

template <class T>
double sum_of_squares(std::span<const T> x) {
  double total = 0;
  for (const T value : x) total += double{value} * double{value};
  return total;
}

template <class T>
double sum(std::span<const T> x) {
  double total = 0;
  for (const T value : x) total += double{value};
  return total;
}

template <class T>
void activate(Activation activation, std::span<const T> x, std::span<T> out) {
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = value(activation, x[i]);
}

template <class T>
void activate_backward(Activation activation, std::span<const T> x, std::span<const T> dy, std::span<T> dx) {
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] += dy[i] * slope(activation, x[i]);
}

template <class T>
void dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out) {
  const T factor = static_cast<T>(1 / (1 - dropout.rate));
  for (std::size_t i = 0; i < x.size(); ++i) {
    out[i] = keeps(dropout, static_cast<std::int64_t>(i)) ? x[i] * factor : T{0};
  }
}

template <class T>
void add_dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out) {
  const T factor = static_cast<T>(1 / (1 - dropout.rate));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (keeps(dropout, static_cast<std::int64_t>(i))) out[i] += x[i] * factor;
  }
}

template <class T>
void adam(const AdamStep& step, std::span<const T> gradients, std::span<T> moment1, std::span<T> moment2,
          std::span<T> parameters) {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double g = step.gradient_scale * double{gradients[i]};
    const double m = step.beta1 * double{moment1[i]} + (1 - step.beta1) * g;
    const double v = step.beta2 * double{moment2[i]} + (1 - step.beta2) * g * g;
    const double p = double{parameters[i]};
    const double update = m / step.correction1 / (std::sqrt(v / step.correction2) + step.epsilon) + step.decay * p;
    moment1[i] = static_cast<T>(m);
    moment2[i] = static_cast<T>(v);
    parameters[i] = static_cast<T>(p - step.rate * update);
  }
}

template <class T>
void softmax(Matrix<T> x) {
  reference::log_softmax(x);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) x(i, j) = std::exp(x(i, j));
  }
}

template <class T>
void log_softmax(Matrix<T> x) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    T largest = x(i, 0);
    for (std::int64_t j = 1; j < x.columns; ++j) largest = std::max(largest, x(i, j));
    T total = 0;
    for (std::int64_t j = 0; j < x.columns; ++j) total += std::exp(x(i, j) - largest);
    for (std::int64_t j = 0; j < x.columns; ++j) x(i, j) -= largest + std::log(total);
  }
}

template <class T>
void layer_norm(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> bias, T epsilon, Matrix<T> out,
                std::span<T> mean, std::span<T> inverse_deviation) {
  const T columns = static_cast<T>(x.columns);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    T m = 0;
    for (std::int64_t j = 0; j < x.columns; ++j) m += x(i, j) / columns;
    T variance = 0;
    for (std::int64_t j = 0; j < x.columns; ++j) variance += (x(i, j) - m) * (x(i, j) - m) / columns;
    const T inverse = 1 / std::sqrt(variance + epsilon);
    for (std::int64_t j = 0; j < x.columns; ++j) out(i, j) = (x(i, j) - m) * inverse * gain[at(j)] + bias[at(j)];
    mean[at(i)] = m;
    inverse_deviation[at(i)] = inverse;
  }
}

template <class T>
void layer_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> mean,
                         std::span<const T> inverse_deviation, const NormGradients<T>& gradients) {
  const T columns = static_cast<T>(x.columns);
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const T inverse = inverse_deviation[at(i)];
    T mean_g = 0;   // of g = dy gain, the gradient of the normalised x
    T mean_gx = 0;  // of g times the normalised x
    for (std::int64_t j = 0; j < x.columns; ++j) {
      const T normal = (x(i, j) - mean[at(i)]) * inverse;
      const T dy = gradients.dy(i, j);
      mean_g += dy * gain[at(j)] / columns;
      mean_gx += dy * gain[at(j)] * normal / columns;
      gradients.dgain[at(j)] += dy * normal;
      gradients.dbias[at(j)] += dy;
    }
    for (std::int64_t j = 0; j < x.columns; ++j) {
      const T normal = (x(i, j) - mean[at(i)]) * inverse;
      gradients.dx(i, j) += inverse * (gradients.dy(i, j) * gain[at(j)] - mean_g - normal * mean_gx);
    }
  }
}

template <class T>
void rms_norm(ConstMatrix<T> x, std::span<const T> gain, T epsilon, Matrix<T> out, std::span<T> inverse_deviation) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    T square = 0;
    for (std::int64_t j = 0; j < x.columns; ++j) square += x(i, j) * x(i, j) / static_cast<T>(x.columns);
    const T inverse = 1 / std::sqrt(square + epsilon);
    for (std::int64_t j = 0; j < x.columns; ++j) out(i, j) = x(i, j) * inverse * gain[at(j)];
    inverse_deviation[at(i)] = inverse;
  }
}

template <class T>
void rms_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> inverse_deviation,
                       const NormGradients<T>& gradients) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const T inverse = inverse_deviation[at(i)];
    T mean_gx = 0;
    for (std::int64_t j = 0; j < x.columns; ++j) {
      const T normal = x(i, j) * inverse;
      mean_gx += gradients.dy(i, j) * gain[at(j)] * normal / static_cast<T>(x.columns);
      gradients.dgain[at(j)] += gradients.dy(i, j) * normal;
    }
    for (std::int64_t j = 0; j < x.columns; ++j) {
      gradients.dx(i, j) += inverse * (gradients.dy(i, j) * gain[at(j)] - x(i, j) * inverse * mean_gx);
    }
  }
}

template <class T>
void cross_entropy(Matrix<T> logits, std::span<const std::int32_t> targets, const Smoothing& smoothing, bool gradient,
                   std::span<T> losses, std::span<T> nll) {
  const std::int64_t classes = logits.columns;
  const bool marian = smoothing.form == SmoothingForm::marian;
  double others = smoothing.epsilon / static_cast<double>(marian ? classes : classes - 1);
  if (!marian && classes == 1) others = 0;
  const double own = 1 - smoothing.epsilon + (marian ? others : 0);
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    T largest = logits(i, 0);
    for (std::int64_t j = 1; j < classes; ++j) largest = std::max(largest, logits(i, j));
    T total = 0;
    for (std::int64_t j = 0; j < classes; ++j) total += std::exp(logits(i, j) - largest);
    losses[at(i)] = 0;
    for (std::int64_t j = 0; j < classes; ++j) {
      const T log_p = logits(i, j) - largest - std::log(total);
      const T q = static_cast<T>(j == targets[at(i)] ? own : others);
      losses[at(i)] -= q * log_p;
      if (j == targets[at(i)]) nll[at(i)] = -log_p;
      if (gradient) logits(i, j) = std::exp(log_p) - q;
    }
  }
}

template <class T>
void add_column_sums(ConstMatrix<T> x, std::span<T> out) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) out[at(j)] += x(i, j);
  }
}

template <class T>
void gather_rows(ConstMatrix<T> table, std::span<const std::int32_t> rows, T factor, Matrix<T> out) {
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.columns; ++j) out(i, j) = factor * table(rows[at(i)], j);
  }
}

template <class T>
void scatter_add_rows(ConstMatrix<T> x, std::span<const std::int32_t> rows, T factor, Matrix<T> table) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    for (std::int64_t j = 0; j < x.columns; ++j) table(rows[at(i)], j) += factor * x(i, j);
  }
}

template void add(std::span<const float>, std::span<const float>, std::span<float>);
template void add(std::span<const double>, std::span<const double>, std::span<double>);
template void add_scaled(float, std::span<const float>, std::span<float>);
template void add_scaled(double, std::span<const double>, std::span<double>);
template void scale(float, std::span<float>);
template void scale(double, std::span<double>);
template void multiply(std::span<const float>, std::span<const float>, std::span<float>);
template void multiply(std::span<const double>, std::span<const double>, std::span<double>);
template void add_product(std::span<const float>, std::span<const float>, std::span<float>);
template void add_product(std::span<const double>, std::span<const double>, std::span<double>);
template double sum_of_squares(std::span<const float>);
template double sum_of_squares(std::span<const double>);
template double sum(std::span<const float>);
template double sum(std::span<const double>);
template void activate(Activation, std::span<const float>, std::span<float>);
template void activate(Activation, std::span<const double>, std::span<double>);
template void activate_backward(Activation, std::span<const float>, std::span<const float>, std::span<float>);
template void activate_backward(Activation, std::span<const double>, std::span<const double>, std::span<double>);
template void dropout(const Dropout&, std::span<const float>, std::span<float>);
template void dropout(const Dropout&, std::span<const double>, std::span<double>);
template void add_dropout(const Dropout&, std::span<const float>, std::span<float>);
template void add_dropout(const Dropout&, std::span<const double>, std::span<double>);
template void adam(const AdamStep&, std::span<const float>, std::span<float>, std::span<float>, std::span<float>);
template void adam(const AdamStep&, std::span<const double>, std::span<double>, std::span<double>, std::span<double>);
template void softmax(Matrix<float>);
template void softmax(Matrix<double>);
template void log_softmax(Matrix<float>);
template void log_softmax(Matrix<double>);
template void layer_norm(ConstMatrix<float>, std::span<const float>, std::span<const float>, float, Matrix<float>,
                         std::span<float>, std::span<float>);
template void layer_norm(ConstMatrix<double>, std::span<const double>, std::span<const double>, double, Matrix<double>,
                         std::span<double>, std::span<double>);
template void layer_norm_backward(ConstMatrix<float>, std::span<const float>, std::span<const float>,
                                  std::span<const float>, const NormGradients<float>&);
template void layer_norm_backward(ConstMatrix<double>, std::span<const double>, std::span<const double>,
                                  std::span<const double>, const NormGradients<double>&);
template void rms_norm(ConstMatrix<float>, std::span<const float>, float, Matrix<float>, std::span<float>);
template void rms_norm(ConstMatrix<double>, std::span<const double>, double, Matrix<double>, std::span<double>);
template void rms_norm_backward(ConstMatrix<float>, std::span<const float>, std::span<const float>,
                                const NormGradients<float>&);
template void rms_norm_backward(ConstMatrix<double>, std::span<const double>, std::span<const double>,
                                const NormGradients<double>&);
template void cross_entropy(Matrix<float>, std::span<const std::int32_t>, const Smoothing&, bool, std::span<float>,
                            std::span<float>);
template void cross_entropy(Matrix<double>, std::span<const std::int32_t>, const Smoothing&, bool, std::span<double>,
                            std::span<double>);
template void add_column_sums(ConstMatrix<float>, std::span<float>);
template void add_column_sums(ConstMatrix<double>, std::span<double>);
template void gather_rows(ConstMatrix<float>, std::span<const std::int32_t>, float, Matrix<float>);
template void gather_rows(ConstMatrix<double>, std::span<const std::int32_t>, double, Matrix<double>);
template void scatter_add_rows(ConstMatrix<float>, std::span<const std::int32_t>, float, Matrix<float>);
template void scatter_add_rows(ConstMatrix<double>, std::span<const std::int32_t>, double, Matrix<double>);
}  // namespace zhuyi::kernels::reference
