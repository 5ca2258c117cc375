#include "kernels/vector.h"

#include "kernels/mask.h"
#include "kernels/reference.h"

namespace zhuyi::kernels {

bool keeps(const Dropout& dropout, std::int64_t i) {
  const MaskKey key = mask_key(dropout, i);
  return mask_hash(key, static_cast<std::uint32_t>(i)) >= key.threshold;
}

template <class T>
void add(std::span<const T> x, std::span<const T> y, std::span<T> out) {
  return reference::add(x, y, out);
}

template <class T>
void add_scaled(T scale, std::span<const T> x, std::span<T> y) {
  return reference::add_scaled(scale, x, y);
}

template <class T>
void scale(T factor, std::span<T> x) {
  return reference::scale(factor, x);
}

template <class T>
void multiply(std::span<const T> x, std::span<const T> y, std::span<T> out) {
  return reference::multiply(x, y, out);
}

template <class T>
void add_product(std::span<const T> x, std::span<const T> y, std::span<T> out) {
  return reference::add_product(x, y, out);
}

template <class T>
double sum_of_squares(std::span<const T> x) {
  return reference::sum_of_squares(x);
}

template <class T>
double sum(std::span<const T> x) {
  return reference::sum(x);
}

template <class T>
void activate(Activation activation, std::span<const T> x, std::span<T> out) {
  return reference::activate(activation, x, out);
}

template <class T>
void activate_backward(Activation activation, std::span<const T> x, std::span<const T> dy, std::span<T> dx) {
  return reference::activate_backward(activation, x, dy, dx);
}

template <class T>
void dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out) {
  return reference::dropout(dropout, x, out);
}

template <class T>
void add_dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out) {
  return reference::add_dropout(dropout, x, out);
}

template <class T>
void adam(const AdamStep& step, std::span<const T> gradients, std::span<T> moment1, std::span<T> moment2,
          std::span<T> parameters) {
  return reference::adam(step, gradients, moment1, moment2, parameters);
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

}  // namespace zhuyi::kernels
