#pragma once
// Row by row: softmax, layer norm, cross-entropy, bias gradients, embedding rows. T is float or double; matrices have
// column stride 1. A row's result never depends on other rows; sums over rows have a fixed order on any number of
// threads.

#include <cstdint>
#include <span>

#include "kernels/matrix.h"

namespace zhuyi::kernels {

// x[i, :] = softmax(x[i, :]), with the row's maximum taken off first.
template <class T>
void softmax(Matrix<T> x);

// x[i, j] -= log sum_j exp x[i, j]; the log-softmax.
template <class T>
void log_softmax(Matrix<T> x);

// The first index from `begin` on whose number is above the limit, or a NaN; x.size() when there is none.
std::int64_t first_above(std::span<const float> x, std::int64_t begin, float limit);

// Layer norm (Ba, Kiros, Hinton, 2016): out = (x - mean) / sqrt(variance + epsilon) * gain + bias over each row, with
// the biased variance. mean and inverse_deviation [rows] are kept for backward.
template <class T>
void layer_norm(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> bias, T epsilon, Matrix<T> out,
                std::span<T> mean, std::span<T> inverse_deviation);

// What layer_norm_backward and rms_norm_backward read and add to: dgain and dbias, and dx unless it is to be written
// over.
template <class T>
struct NormGradients {
  ConstMatrix<T> dy;
  Matrix<T> dx;
  std::span<T> dgain;
  std::span<T> dbias;  // empty for rms_norm
  bool add = true;     // to dx
};

template <class T>
void layer_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> mean,
                         std::span<const T> inverse_deviation, const NormGradients<T>& gradients);

// RMS norm (Zhang, Sennrich, 2019): out = x / sqrt(mean(x^2) + epsilon) * gain.
template <class T>
void rms_norm(ConstMatrix<T> x, std::span<const T> gain, T epsilon, Matrix<T> out, std::span<T> inverse_deviation);

template <class T>
void rms_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> inverse_deviation,
                       const NormGradients<T>& gradients);

// Label smoothing (Szegedy et al., 2016; paper 5.4). marian: the target keeps 1 - e + e/V and every class gets e/V.
// fairseq: the target keeps 1 - e, each of the others gets e/(V-1).
enum class SmoothingForm { marian, fairseq };

struct Smoothing {
  double epsilon = 0;
  SmoothingForm form = SmoothingForm::marian;
};

// Cross-entropy of rows of logits against targets: losses[i] = -sum_j q_j log softmax(logits[i])_j with the smoothed
// target distribution q, and nll[i] = -log softmax(logits[i])_{targets[i]}. With `gradient`, logits become
// softmax(logits) - q, the gradient of losses[i]; otherwise they are left as they are. targets in [0, columns).
template <class T>
void cross_entropy(Matrix<T> logits, std::span<const std::int32_t> targets, const Smoothing& smoothing, bool gradient,
                   std::span<T> losses, std::span<T> nll);

// out[j] += sum over i of x[i, j]: the gradient of a bias.
template <class T>
void add_column_sums(ConstMatrix<T> x, std::span<T> out);

// out[i, :] = factor * table[rows[i], :].
template <class T>
void gather_rows(ConstMatrix<T> table, std::span<const std::int32_t> rows, T factor, Matrix<T> out);

// table[rows[i], :] += factor * x[i, :], in the order of i for every table row.
template <class T>
void scatter_add_rows(ConstMatrix<T> x, std::span<const std::int32_t> rows, T factor, Matrix<T> table);

}  // namespace zhuyi::kernels
