#pragma once
// Element by element: sums, activations, dropout, the optimiser's update. T is float or double; spans of one call have
// one length. All run on the threads of base/parallel and give the same bits on any number of them.

#include <cstdint>
#include <span>

namespace zhuyi::kernels {

// out = x + y. `out` may be x or y.
template <class T>
void add(std::span<const T> x, std::span<const T> y, std::span<T> out);

// y += scale * x.
template <class T>
void add_scaled(T scale, std::span<const T> x, std::span<T> y);

// x *= factor.
template <class T>
void scale(T factor, std::span<T> x);

// out = x * y.
template <class T>
void multiply(std::span<const T> x, std::span<const T> y, std::span<T> out);

// out += x * y.
template <class T>
void add_product(std::span<const T> x, std::span<const T> y, std::span<T> out);

// The sum of squares, in double, in a fixed order.
template <class T>
double sum_of_squares(std::span<const T> x);

// The sum, in double, in a fixed order.
template <class T>
double sum(std::span<const T> x);

enum class Activation {
  identity,
  relu,  // max(0, x); paper 3.3
  gelu,  // x Phi(x), exact with erf (Hendrycks, Gimpel, 2016)
  silu,  // x sigmoid(x) (Elfwing, Uchibe, Doya, 2017)
};

// out = activation(x). `out` may be x.
template <class T>
void activate(Activation activation, std::span<const T> x, std::span<T> out);

// dx += dy * activation'(x), or without `add` dx = dy * activation'(x).
template <class T>
void activate_backward(Activation activation, std::span<const T> x, std::span<const T> dy, std::span<T> dx,
                       bool add = true);

// Dropout (Srivastava et al., 2014): element i is kept when a hash of (key, i) says so, with probability 1 - rate, and
// then divided by 1 - rate. The mask is a function of (key, i), the same in forward and backward and for float and
// double.
struct Dropout {
  double rate = 0;        // [0, 1)
  std::uint64_t key = 0;  // base::combine(seed, site, step)
};

// out = dropout(x). `out` may be x.
template <class T>
void dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out);

// out += dropout(x): the backward side.
template <class T>
void add_dropout(const Dropout& dropout, std::span<const T> x, std::span<T> out);

// out = x + dropout(y): the residual connection around a sub-layer with output y (paper 5.4).
template <class T>
void residual(const Dropout& dropout, std::span<const T> x, std::span<const T> y, std::span<T> out);

// Whether element i is kept: the definition of the mask, for tests and for kernels that apply it in passing.
bool keeps(const Dropout& dropout, std::int64_t i);

// One step of Adam (Kingma, Ba, 2015; paper 5.3), with decoupled weight decay (Loshchilov, Hutter, 2019).
struct AdamStep {
  double rate = 0;  // learning rate of this step
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double correction1 = 1;     // 1 - beta1^t
  double correction2 = 1;     // 1 - beta2^t
  double decay = 0;           // weight decay, times rate
  double gradient_scale = 1;  // multiplies every gradient first (clipping, token normalisation)
};

// moment1, moment2 and parameters move by one step:
// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; p -= rate (m/c1 / (sqrt(v/c2) + epsilon) + decay p).
template <class T>
void adam(const AdamStep& step, std::span<const T> gradients, std::span<T> moment1, std::span<T> moment2,
          std::span<T> parameters);

}  // namespace zhuyi::kernels
