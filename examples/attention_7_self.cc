// Self-attention f(X): the words of a sentence are queries, keys and values at once, and each becomes a mix of all.

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "nn/estimator.h"

using zhuyi::tensor::DType;
using zhuyi::tensor::Tensor;

constexpr std::array<const char*, 3> kWords = {"river", "bank", "money"};

// f(X) = softmax(X X^T / sqrt(d)) X.
zhuyi::nn::Estimate self_attention(const Tensor& x) {
  return zhuyi::nn::estimate(x, x, x, {zhuyi::kernels::Similarity::scaled_dot});
}

void print_words(const Tensor& x, const std::array<int, 3>& order) {
  for (int i = 0; i < 3; ++i) {
    fmt::print("{:>8}", kWords[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]);
    for (std::int64_t c = 0; c < x.columns(); ++c) fmt::print("  {:>6.3f}", x.at(i, c));
    fmt::print("\n");
  }
}

int main() {
  // Invented vectors of two numbers: how much water, how much finance. "bank" has some of both.
  const Tensor x = Tensor::of(3, 2, {3, 0, 1, 1, 0, 3}, DType::f64);
  const auto f = self_attention(x);
  fmt::print("weights\n");
  print_words(f.weights, {0, 1, 2});
  fmt::print("f(X)\n");
  print_words(f.values, {0, 1, 2});

  // The same words in another order: the same rows in another order. Attention alone does not see positions.
  const Tensor turned = Tensor::of(3, 2, {0, 3, 3, 0, 1, 1}, DType::f64);
  fmt::print("f of the words in another order\n");
  print_words(self_attention(turned).values, {2, 0, 1});

  // Without "money" the bank is a river's.
  const Tensor shorter = Tensor::of(2, 2, {3, 0, 1, 1}, DType::f64);
  const auto alone = self_attention(shorter);
  fmt::print("bank beside river only: {:.3f}  {:.3f}\n", alone.values.at(1, 0), alone.values.at(1, 1));
}
