#pragma once
// Attentions with numbers of their own, for the tests of kernels/attention.h.

#include <utility>
#include <vector>

#include "kernels/attention.h"
#include "kernels/numbers.h"
#include "kernels/reference.h"

namespace zhuyi::kernels {

inline constexpr Similarity kSimilarities[] = {Similarity::scaled_dot, Similarity::dot, Similarity::gaussian};

// Numbers of one attention, with queries, keys, values and gradients.
template <class T>
struct AttentionCase {
  std::int64_t queries, keys, heads, d_k, d_v;
  SimilarityOptions similarity;
  Dropout dropout;
  AttentionMap map;
  std::vector<T> q, k, v, dout, out, weights, dq, dk, dv;
  bool few_queries = false;

  AttentionInputs<T> inputs() const {
    return {matrix(q, queries, heads * d_k),
            matrix(k, keys, heads * d_k),
            matrix(v, keys, heads * d_v),
            heads,
            similarity,
            dropout,
            few_queries};
  }
  void forward() { attention<T>(inputs(), map, matrix(out, queries, heads * d_v), weights); }
  void backward(bool add = true) {
    attention_backward<T>(inputs(), map, weights, matrix(std::as_const(dout), queries, heads * d_v),
                          matrix(dq, queries, heads * d_k), matrix(dk, keys, heads * d_k),
                          matrix(dv, keys, heads * d_v), add);
  }
  void reference_forward() { reference::attention<T>(inputs(), map, matrix(out, queries, heads * d_v), weights); }
  void reference_backward() {
    reference::attention_backward<T>(inputs(), map, weights, matrix(std::as_const(dout), queries, heads * d_v),
                                     matrix(dq, queries, heads * d_k), matrix(dk, keys, heads * d_k),
                                     matrix(dv, keys, heads * d_v));
  }
};

struct AttentionShape {
  std::vector<std::int64_t> queries;  // of each block
  std::vector<std::int64_t> keys;
  std::int64_t heads, d_k, d_v;
};

inline AttentionMap map_of(const AttentionShape& shape, bool causal) {
  AttentionMap map{.blocks = {}, .causal = causal, .key_rows = {}};
  std::int64_t query = 0;
  std::int64_t key = 0;
  for (std::size_t b = 0; b < shape.queries.size(); ++b) {
    const std::int64_t keys = causal ? shape.queries[b] : shape.keys[b];
    map.blocks.push_back({query, query + shape.queries[b], key, key + keys});
    query += shape.queries[b];
    key += keys;
  }
  return map;
}

template <class T>
AttentionCase<T> make_case(const AttentionShape& shape, SimilarityOptions similarity, bool causal, double rate) {
  AttentionCase<T> c{.queries = 0,
                     .keys = 0,
                     .heads = shape.heads,
                     .d_k = shape.d_k,
                     .d_v = shape.d_v,
                     .similarity = similarity,
                     .dropout = {.rate = rate, .key = 77},
                     .map = map_of(shape, causal),
                     .q = {},
                     .k = {},
                     .v = {},
                     .dout = {},
                     .out = {},
                     .weights = {},
                     .dq = {},
                     .dk = {},
                     .dv = {}};
  c.queries = c.map.blocks.back().query_end;
  c.keys = c.map.blocks.back().key_end;
  c.q = normals<T>(c.queries * c.heads * c.d_k, 1);
  c.k = normals<T>(c.keys * c.heads * c.d_k, 2);
  c.v = normals<T>(c.keys * c.heads * c.d_v, 3);
  c.dout = normals<T>(c.queries * c.heads * c.d_v, 4);
  c.out = normals<T>(c.queries * c.heads * c.d_v, 5);  // must be overwritten
  c.weights.assign(at(attention_weight_count(c.map, c.heads)), T{-1});
  c.dq = normals<T>(c.queries * c.heads * c.d_k, 6);
  c.dk = normals<T>(c.keys * c.heads * c.d_k, 7);
  c.dv = normals<T>(c.keys * c.heads * c.d_v, 8);
  return c;
}

inline AttentionCase<double> in_f64(const AttentionCase<float>& c) {
  return {c.queries,
          c.keys,
          c.heads,
          c.d_k,
          c.d_v,
          c.similarity,
          c.dropout,
          c.map,
          in_double(c.q),
          in_double(c.k),
          in_double(c.v),
          in_double(c.dout),
          in_double(c.out),
          in_double(c.weights),
          in_double(c.dq),
          in_double(c.dk),
          in_double(c.dv)};
}
inline AttentionCase<double> in_f64(const AttentionCase<double>& c) { return c; }

}  // namespace zhuyi::kernels
