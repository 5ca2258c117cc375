#include "kernels/rows.h"

#include "kernels/reference.h"

namespace zhuyi::kernels {

template <class T>
void softmax(Matrix<T> x) {
  return reference::softmax(x);
}

template <class T>
void log_softmax(Matrix<T> x) {
  return reference::log_softmax(x);
}

template <class T>
void layer_norm(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> bias, T epsilon, Matrix<T> out,
                std::span<T> mean, std::span<T> inverse_deviation) {
  return reference::layer_norm(x, gain, bias, epsilon, out, mean, inverse_deviation);
}

template <class T>
void layer_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> mean,
                         std::span<const T> inverse_deviation, const NormGradients<T>& gradients) {
  return reference::layer_norm_backward(x, gain, mean, inverse_deviation, gradients);
}

template <class T>
void rms_norm(ConstMatrix<T> x, std::span<const T> gain, T epsilon, Matrix<T> out, std::span<T> inverse_deviation) {
  return reference::rms_norm(x, gain, epsilon, out, inverse_deviation);
}

template <class T>
void rms_norm_backward(ConstMatrix<T> x, std::span<const T> gain, std::span<const T> inverse_deviation,
                       const NormGradients<T>& gradients) {
  return reference::rms_norm_backward(x, gain, inverse_deviation, gradients);
}

template <class T>
void cross_entropy(Matrix<T> logits, std::span<const std::int32_t> targets, const Smoothing& smoothing, bool gradient,
                   std::span<T> losses, std::span<T> nll) {
  return reference::cross_entropy(logits, targets, smoothing, gradient, losses, nll);
}

template <class T>
void add_column_sums(ConstMatrix<T> x, std::span<T> out) {
  return reference::add_column_sums(x, out);
}

template <class T>
void gather_rows(ConstMatrix<T> table, std::span<const std::int32_t> rows, T factor, Matrix<T> out) {
  return reference::gather_rows(table, rows, factor, out);
}

template <class T>
void scatter_add_rows(ConstMatrix<T> x, std::span<const std::int32_t> rows, T factor, Matrix<T> table) {
  return reference::scatter_add_rows(x, rows, factor, table);
}

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

}  // namespace zhuyi::kernels
