#pragma once
// The kernels of one thread over plain memory: one table of functions per scalar type, filled in once for every
// instruction set. The public functions cut their work into pieces and call these.

#include <cstdint>

#include "kernels/quantize.h"
#include "kernels/rows.h"
#include "kernels/vector.h"

namespace zhuyi::kernels {

// n elements from the given addresses, as in vector.h.
template <class T>
struct VectorKernels {
  void (*add)(const T* x, const T* y, T* out, std::int64_t n);
  void (*add_scaled)(T scale, const T* x, T* y, std::int64_t n);
  void (*scale)(T factor, T* x, std::int64_t n);
  void (*multiply)(const T* x, const T* y, T* out, std::int64_t n);
  void (*add_product)(const T* x, const T* y, T* out, std::int64_t n);
  double (*sum_of_squares)(const T* x, std::int64_t n);
  double (*sum)(const T* x, std::int64_t n);
  // The element at x is number `first` of the mask.
  void (*dropout)(const Dropout& dropout, std::int64_t first, const T* x, T* out, std::int64_t n);
  void (*add_dropout)(const Dropout& dropout, std::int64_t first, const T* x, T* out, std::int64_t n);
  void (*adam)(const AdamStep& step, const T* gradients, T* moment1, T* moment2, T* parameters, std::int64_t n);
};

template <class T>
struct ActivationKernels {
  void (*activate)(Activation activation, const T* x, T* out, std::int64_t n);
  void (*activate_backward)(Activation activation, const T* x, const T* dy, T* dx, std::int64_t n);
};

// What cross-entropy asks of one row: its target, the probability that the target and every other class should have.
template <class T>
struct TargetDistribution {
  std::int64_t target;
  T own;
  T others;
  bool gradient;
};

template <class T>
struct RowLosses {
  T loss;
  T nll;
};

// One row of n elements, as in rows.h.
template <class T>
struct SoftmaxKernels {
  void (*softmax)(T* x, std::int64_t n);
  void (*log_softmax)(T* x, std::int64_t n);
  RowLosses<T> (*cross_entropy)(T* logits, std::int64_t n, const TargetDistribution<T>& q);
  // weights [n] and the gradient with respect to them, which becomes that with respect to the scores:
  // dw_j = w_j (dw_j - sum_k w_k dw_k).
  void (*softmax_backward)(const T* weights, T* gradient, std::int64_t n);
};

// The mean that is taken off (0 for RMS norm) and the factor that follows.
template <class T>
struct NormMoments {
  T mean;
  T inverse_deviation;
};

// One row of a normalisation.
template <class T>
struct NormRow {
  const T* x;
  const T* gain;
  std::int64_t n;
};

template <class T>
struct NormKernels {
  // bias may be null; `centred` takes the mean off.
  NormMoments<T> (*forward)(const NormRow<T>& row, const T* bias, T epsilon, bool centred, T* out);
  // Adds to dx, dgain and, when centred, dbias.
  void (*backward)(const NormRow<T>& row, const NormMoments<T>& moments, bool centred, const T* dy, T* dx, T* dgain,
                   T* dbias);
};

template <class T>
struct TableKernels {
  // out[j] += the sum over rows of x[i * stride + j], for `columns` columns.
  void (*add_column_sums)(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, T* out);
  // out = factor * x.
  void (*copy_scaled)(T factor, const T* x, T* out, std::int64_t n);
};

// One block and head of a lookup in rows that stand anywhere: key j is row rows[j] of k and v, or without `rows` row j.
// K is the type of the keys and values in memory.
template <class T, class K>
struct Lookup {
  ConstMatrix<T> q;  // [queries, d_k]
  ConstMatrix<K> k;  // [*, d_k]
  ConstMatrix<K> v;  // [*, d_v]
  const std::int32_t* rows;
  std::int64_t keys;

  std::int64_t row(std::int64_t j) const { return rows == nullptr ? j : rows[j]; }
};

template <class T, class K>
struct LookupKernels {
  // weights [queries, keys] = factor * (distance ? |q - k|^2 : q.k).
  void (*scores)(const Lookup<T, K>& lookup, T factor, bool distance, T* weights);
  // out [queries, d_v] = weights v.
  void (*mix)(const Lookup<T, K>& lookup, const T* weights, Matrix<T> out);
};

// The tables for the instruction set in use.
template <class T>
const VectorKernels<T>& vector_kernels();
template <class T>
const ActivationKernels<T>& activation_kernels();
template <class T>
const SoftmaxKernels<T>& softmax_kernels();
template <class T>
const NormKernels<T>& norm_kernels();
template <class T>
const TableKernels<T>& table_kernels();
template <class T, class K>
const LookupKernels<T, K>& lookup_kernels();

// Rows that make a piece of work worth a thread's while, given their length.
inline std::int64_t rows_per_piece(std::int64_t columns) {
  return columns >= 8192 ? 1 : 8192 / (columns > 0 ? columns : 1);
}

}  // namespace zhuyi::kernels
