#pragma once
// Attention: f(q) = sum_i alpha(q, k_i) v_i, where alpha is a normalised similarity of query and key (paper 3.2).
// One kernel for the model's heads and for a lookup in a table of three.

#include <cstdint>
#include <span>

#include "kernels/attention_map.h"
#include "kernels/matrix.h"
#include "kernels/vector.h"

namespace zhuyi::kernels {

// How alike a query and a key are, before the softmax over the keys.
enum class Similarity {
  scaled_dot,  // q.k / sqrt(d_k); paper 3.2.1
  dot,         // q.k
  gaussian,    // -|q - k|^2 / (2 bandwidth^2): softmax gives the Nadaraya-Watson estimator (1964)
};

struct SimilarityOptions {
  Similarity kind = Similarity::scaled_dot;
  double bandwidth = 1;  // gaussian only
};

// The weights of all blocks and heads, kept for backward: for block b and head h, a [queries, keys] matrix, row-major,
// at offset (heads * sum over earlier blocks of queries * keys) + h * queries * keys. After dropout is applied to a
// copy, so these are the weights before dropout. Weights of masked keys are 0.
std::int64_t attention_weight_count(const AttentionMap& map, std::int64_t heads);

// out[i, head h's columns] = sum_j weight_ij v[j, head h's columns], weight = dropout(softmax over keys of similarity).
// q [queries, heads * d_k], k [keys, heads * d_k], v [keys, heads * d_v], out [queries, heads * d_v].
// weights: attention_weight_count numbers, or empty when they are not wanted. There is no backward for inputs that
// look keys up. T is float or double; K, the type of the keys and values in memory, is T, or Bf16 beside float
// (where keys are looked up).
template <class T, class K = T>
struct AttentionInputs {
  ConstMatrix<T> q;
  ConstMatrix<K> k;
  ConstMatrix<K> v;
  std::int64_t heads = 1;
  SimilarityOptions similarity;
  Dropout dropout;  // of the weights; element number = its offset among the weights
  // Blocks have few queries, a beam's hypotheses, say: keys and values are read as they lie, since bringing them into
  // the order of a product would cost more than the product. Where the map has key_rows it is so anyway.
  bool few_queries = false;

  bool looks_up(const AttentionMap& map) const { return few_queries || !map.key_rows.empty(); }
};

template <class T, class K = T>
void attention(const AttentionInputs<T, K>& inputs, const AttentionMap& map, Matrix<T> out, std::span<T> weights);

// The gradients of `attention`, added to dq, dk, dv, or without `add` written over them. map.key_rows must be empty. No
// two blocks may share keys unless the map has the blocks in order; sums over queries of a key are in a fixed order.
template <class T>
void attention_backward(const AttentionInputs<T>& inputs, const AttentionMap& map, std::span<const T> weights,
                        ConstMatrix<T> dout, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv, bool add = true);

}  // namespace zhuyi::kernels
