#pragma once
// The kernels again as plain loops: slow, obvious, the oracle of the tests. Same meaning and arguments as gemm.h,
// vector.h, rows.h and attention.h; see there.

#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "kernels/vector.h"

namespace zhuyi::kernels::reference {

// Same signature as each function in the headers above, in this namespace.

// gemm.h; sums in double.
template <class T>
void gemm(ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c, const GemmOptions<T>& options = {});

// vector.h
template <class T>
void add(std::span<const T> x, std::span<const T> y, std::span<T> out);
template <class T>
void add_scaled(T scale, std::span<const T> x, std::span<T> y);
template <class T>
void scale(T factor, std::span<T> x);
template <class T>
void multiply(std::span<const T> x, std::span<const T> y, std::span<T> out);
template <class T>
void add_product(std::span<const T> x, std::span<const T> y, std::span<T> out);
template <class T>
double sum_of_squares(std::span<const T> x);
template <class T>
double sum(std::span<const T> x);
template <class T>
void activate(Activation activation, std::span<const T> x, std::span<T> out);
template <class T>
void activate_backward(Activation activation, std::span<const T> x, std::span<const T> dy, std::span<T> dx);
template <class T>
void dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out);
template <class T>
void add_dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out);
template <class T>
void adam(const AdamStep& step, std::span<const T> gradients, std::span<T> moment1, std::span<T> moment2,
          std::span<T> parameters);

// rows.h
template <class T>
void softmax(Matrix<T> x);
template <class T>
void log_softmax(Matrix<T> x);
template <class T>
void layer_norm(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> bias, T epsilon, Matrix<T> out,
                std::span<T> mean, std::span<T> inverse_deviation);
template <class T>
void layer_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> mean,
                         std::span<const T> inverse_deviation, const NormGradients<T>& gradients);
template <class T>
void rms_norm(ConstMatrix<T> x, std::span<const T> gain, T epsilon, Matrix<T> out, std::span<T> inverse_deviation);
template <class T>
void rms_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> inverse_deviation,
                       const NormGradients<T>& gradients);
template <class T>
void cross_entropy(Matrix<T> logits, std::span<const std::int32_t> targets, const Smoothing& smoothing, bool gradient,
                   std::span<T> losses, std::span<T> nll);
template <class T>
void add_column_sums(ConstMatrix<T> x, std::span<T> out);
template <class T>
void gather_rows(ConstMatrix<T> table, std::span<const std::int32_t> rows, T factor, Matrix<T> out);
template <class T>
void scatter_add_rows(ConstMatrix<T> x, std::span<const std::int32_t> rows, T factor, Matrix<T> table);

// attention.h; key_rows are allowed in forward and backward.
template <class T>
void attention(const AttentionInputs<T>& inputs, const AttentionMap& map, Matrix<T> out, std::span<T> weights);
template <class T>
void attention_backward(const AttentionInputs<T>& inputs, const AttentionMap& map, std::span<const T> weights,
                        ConstMatrix<T> dout, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv);

}  // namespace zhuyi::kernels::reference
