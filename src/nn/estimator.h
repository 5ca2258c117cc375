#pragma once
// The idea of attention as a lookup that weighs: f(q) = sum_i alpha(q, k_i) v_i over a table of keys and values.

#include "kernels/attention.h"
#include "tensor/tensor.h"

namespace zhuyi::nn {

struct Estimate {
  tensor::Tensor values;   // f(q) of each query: [queries, width of a value]
  tensor::Tensor weights;  // alpha(q, k_i), each row sums to 1: [queries, keys]
};

// What the table of `keys` [keys, d] and `values` [keys, width] says about `queries` [queries, d], all f64. The weights
// are softmax over the keys of the similarity; with the Gaussian this is the estimator of Nadaraya and of Watson (both
// 1964).
//
// It stands in this room because it is the model's attention without anything learned: one head of ops::attention,
// where every query sees every key. Throws invalid_argument when sizes do not fit, there is no key, the bandwidth is
// not positive, or the similarities are too large for a double.
Estimate estimate(const tensor::Tensor& queries, const tensor::Tensor& keys, const tensor::Tensor& values,
                  const kernels::SimilarityOptions& similarity);

}  // namespace zhuyi::nn
