#include <cmath>

#include "kernels/reference.h"

namespace zhuyi::kernels::reference {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// What one (block, head) reads: where its weights begin, the row of key j, the columns where the head begins.
struct Head {
  AttentionBlock block;
  std::int64_t weights;
  std::int64_t k_column;
  std::int64_t v_column;
  std::int64_t d_k;
  std::int64_t d_v;

  std::int64_t queries() const { return block.query_end - block.query_begin; }
  std::int64_t keys() const { return block.key_end - block.key_begin; }
  std::int64_t seen(const AttentionMap& map, std::int64_t i) const { return map.causal ? i + 1 : keys(); }
  std::int64_t key_row(const AttentionMap& map, std::int64_t j) const {
    return map.key_rows.empty() ? block.key_begin + j : map.key_rows[at(block.key_begin + j)];
  }
};

template <class T>
std::vector<Head> heads_of(const AttentionInputs<T>& inputs, const AttentionMap& map) {
  std::vector<Head> result;
  std::int64_t offset = 0;
  const std::int64_t d_k = inputs.q.columns / inputs.heads;
  const std::int64_t d_v = inputs.v.columns / inputs.heads;
  for (const AttentionBlock& block : map.blocks) {
    for (std::int64_t head = 0; head < inputs.heads; ++head) {
      result.push_back({block, offset, head * d_k, head * d_v, d_k, d_v});
      offset += result.back().queries() * result.back().keys();
    }
  }
  return result;
}

template <class T>
T similarity(const SimilarityOptions& options, const T* q, const T* k, std::int64_t d_k) {
  T dot = 0;
  T distance = 0;
  for (std::int64_t c = 0; c < d_k; ++c) {
    dot += q[c] * k[c];
    distance += (q[c] - k[c]) * (q[c] - k[c]);
  }
  if (options.kind == Similarity::dot) return dot;
  if (options.kind == Similarity::scaled_dot) return dot / std::sqrt(static_cast<T>(d_k));
  return -distance / static_cast<T>(2 * options.bandwidth * options.bandwidth);
}

// The gradients of q and k, given that of their similarity.
template <class T>
void similarity_backward(const SimilarityOptions& options, std::int64_t d_k, T gradient, const T* q, const T* k, T* dq,
                         T* dk) {
  const T width = static_cast<T>(options.bandwidth * options.bandwidth);
  for (std::int64_t c = 0; c < d_k; ++c) {
    if (options.kind == Similarity::gaussian) {
      dq[c] += gradient * (k[c] - q[c]) / width;
      dk[c] += gradient * (q[c] - k[c]) / width;
    } else {
      const T scale = options.kind == Similarity::dot ? T{1} : 1 / std::sqrt(static_cast<T>(d_k));
      dq[c] += gradient * scale * k[c];
      dk[c] += gradient * scale * q[c];
    }
  }
}

// By how much dropout multiplies the weight with number `i`.
double kept(const Dropout& dropout, std::int64_t i) {
  if (dropout.rate == 0) return 1;
  return keeps(dropout, i) ? 1 / (1 - dropout.rate) : 0;
}

}  // namespace

template <class T>
void attention(const AttentionInputs<T>& inputs, const AttentionMap& map, Matrix<T> out, std::span<T> weights) {
  for (const Head& head : heads_of(inputs, map)) {
    for (std::int64_t i = 0; i < head.queries(); ++i) {
      const std::int64_t query = head.block.query_begin + i;
      std::vector<T> row(at(head.seen(map, i)));
      for (std::size_t j = 0; j < row.size(); ++j) {
        const std::int64_t key = head.key_row(map, static_cast<std::int64_t>(j));
        row[j] = similarity(inputs.similarity, inputs.q.row(query) + head.k_column, inputs.k.row(key) + head.k_column,
                            head.d_k);
      }
      reference::softmax(Matrix<T>::dense(row.data(), 1, static_cast<std::int64_t>(row.size())));
      row.resize(at(head.keys()), T{0});
      for (std::int64_t c = 0; c < head.d_v; ++c) out(query, head.v_column + c) = 0;
      for (std::int64_t j = 0; j < head.keys(); ++j) {
        const std::int64_t number = head.weights + i * head.keys() + j;
        if (!weights.empty()) weights[at(number)] = row[at(j)];
        const T weight = row[at(j)] * static_cast<T>(kept(inputs.dropout, number));
        for (std::int64_t c = 0; c < head.d_v; ++c) {
          out(query, head.v_column + c) += weight * inputs.v(head.key_row(map, j), head.v_column + c);
        }
      }
    }
  }
}

template <class T>
void attention_backward(const AttentionInputs<T>& inputs, const AttentionMap& map, std::span<const T> weights,
                        ConstMatrix<T> dout, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv) {
  for (const Head& head : heads_of(inputs, map)) {
    for (std::int64_t i = 0; i < head.queries(); ++i) {
      const std::int64_t query = head.block.query_begin + i;
      std::vector<T> dweight(at(head.keys()));
      T mean = 0;
      for (std::int64_t j = 0; j < head.keys(); ++j) {
        const std::int64_t key = head.key_row(map, j);
        const std::int64_t number = head.weights + i * head.keys() + j;
        const T factor = static_cast<T>(kept(inputs.dropout, number));
        for (std::int64_t c = 0; c < head.d_v; ++c) {
          const T dy = dout(query, head.v_column + c);
          dv(key, head.v_column + c) += factor * weights[at(number)] * dy;
          dweight[at(j)] += factor * dy * inputs.v(key, head.v_column + c);
        }
        mean += weights[at(number)] * dweight[at(j)];
      }
      for (std::int64_t j = 0; j < head.keys(); ++j) {
        const std::int64_t key = head.key_row(map, j);
        const T dscore = weights[at(head.weights + i * head.keys() + j)] * (dweight[at(j)] - mean);
        similarity_backward(inputs.similarity, head.d_k, dscore, inputs.q.row(query) + head.k_column,
                            inputs.k.row(key) + head.k_column, dq.row(query) + head.k_column,
                            dk.row(key) + head.k_column);
      }
    }
  }
}

template void attention(const AttentionInputs<float>&, const AttentionMap&, Matrix<float>, std::span<float>);
template void attention(const AttentionInputs<double>&, const AttentionMap&, Matrix<double>, std::span<double>);
template void attention_backward(const AttentionInputs<float>&, const AttentionMap&, std::span<const float>,
                                 ConstMatrix<float>, Matrix<float>, Matrix<float>, Matrix<float>);
template void attention_backward(const AttentionInputs<double>&, const AttentionMap&, std::span<const double>,
                                 ConstMatrix<double>, Matrix<double>, Matrix<double>, Matrix<double>);
}  // namespace zhuyi::kernels::reference
