// Attention against plain loops in double, for every similarity, with and without causality and dropout, on every
// instruction set; its gradients against central differences.

#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/numbers.h"
#include "kernels/quantize.h"
#include "kernels/reference.h"

namespace zhuyi::kernels {
namespace {

constexpr Similarity kSimilarities[] = {Similarity::scaled_dot, Similarity::dot, Similarity::gaussian};

// Numbers of one attention, with queries, keys, values and gradients.
template <class T>
struct Case {
  std::int64_t queries, keys, heads, d_k, d_v;
  SimilarityOptions similarity;
  Dropout dropout;
  AttentionMap map;
  std::vector<T> q, k, v, dout, out, weights, dq, dk, dv;

  AttentionInputs<T> inputs() const {
    return {matrix(q, queries, heads * d_k),
            matrix(k, keys, heads * d_k),
            matrix(v, keys, heads * d_v),
            heads,
            similarity,
            dropout};
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

struct Shape {
  std::vector<std::int64_t> queries;  // of each block
  std::vector<std::int64_t> keys;
  std::int64_t heads, d_k, d_v;
};

AttentionMap map_of(const Shape& shape, bool causal) {
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
Case<T> make_case(const Shape& shape, SimilarityOptions similarity, bool causal, double rate) {
  Case<T> c{.queries = 0,
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

Case<double> in_f64(const Case<float>& c) {
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
Case<double> in_f64(const Case<double>& c) { return c; }

template <class T>
void equals_reference(const Shape& shape, SimilarityOptions similarity, bool causal, double rate,
                      const std::string& where) {
  const double tolerance = sizeof(T) == 4 ? 3e-5 : 1e-12;
  Case<T> c = make_case<T>(shape, similarity, causal, rate);
  Case<double> r = in_f64(c);
  c.forward();
  r.reference_forward();
  expect_close(c.out, r.out, tolerance, where + " out");
  expect_close(c.weights, r.weights, tolerance, where + " weights");
  c.backward();
  r.reference_backward();
  expect_close(c.dq, r.dq, tolerance, where + " dq");
  expect_close(c.dk, r.dk, tolerance, where + " dk");
  expect_close(c.dv, r.dv, tolerance, where + " dv");
  // Weights that nobody keeps give the same output.
  const std::vector<T> kept = c.out;
  c.weights.clear();
  c.forward();
  expect_same_bits(in(c.out), in(kept), where + " out without weights");
}

TEST(Attention, EqualsReference) {
  const std::vector<Shape> shapes{{{1}, {1}, 1, 1, 1},
                                  {{1, 2, 7}, {3, 1, 65}, 2, 7, 5},
                                  {{17, 63}, {65, 2}, 3, 17, 8},
                                  {{65, 70}, {63, 17}, 2, 16, 65},
                                  {{200, 3}, {9, 130}, 1, 6, 7}};
  on_every_target([&](const std::string& target) {
    for (std::size_t s = 0; s < shapes.size(); ++s) {
      for (const Similarity kind : kSimilarities) {
        for (const bool causal : {false, true}) {
          for (const double rate : {0.0, 0.25}) {
            const std::string where = target + " shape " + std::to_string(s) + " similarity " +
                                      std::to_string(static_cast<int>(kind)) + (causal ? " causal" : "") + " rate " +
                                      std::to_string(rate);
            // A bandwidth that makes the weights neither 0 nor 1.
            const SimilarityOptions similarity{.kind = kind, .bandwidth = 2.5};
            equals_reference<float>(shapes[s], similarity, causal, rate, where + " f32");
            equals_reference<double>(shapes[s], similarity, causal, rate, where + " f64");
          }
        }
      }
    }
  });
}

TEST(Attention, GradientsEqualCentralDifferences) {
  const Shape shape{{2, 3}, {3, 4}, 2, 3, 2};
  for (const Similarity kind : kSimilarities) {
    for (const bool causal : {false, true}) {
      for (const double rate : {0.0, 0.25}) {
        Case<double> c = make_case<double>(shape, {.kind = kind, .bandwidth = 1.5}, causal, rate);
        c.forward();
        for (std::vector<double>* gradient : {&c.dq, &c.dk, &c.dv}) {
          std::fill(gradient->begin(), gradient->end(), 0.0);
        }
        c.backward();
        const auto loss = [&c] {
          c.forward();
          return weighted(c.dout, c.out);
        };
        const std::string where = "similarity " + std::to_string(static_cast<int>(kind)) + (causal ? " causal" : "");
        expect_close(c.dq, central_differences(c.q, loss), 1e-8, where + " dq");
        expect_close(c.dk, central_differences(c.k, loss), 1e-8, where + " dk");
        expect_close(c.dv, central_differences(c.v, loss), 1e-8, where + " dv");
      }
    }
  }
}

// Weight from the waist: keys 51, 56, 58 cm, values 40, 43, 48 kg, query 57, bandwidth 1. The distances are 6, 1, 1, so
// the weights are e^-18, e^-1/2, e^-1/2 over their sum; e^-17.5 = 2.5110e-8, so the first is 1.2555e-8 and the estimate
// 45.5 - 5.5 * 1.2555e-8 = 45.49999993.
TEST(Attention, WaistToWeight) {
  const std::vector<double> q{57}, k{51, 56, 58}, v{40, 43, 48};
  const double sum = std::exp(-18.0) + 2 * std::exp(-0.5);
  const double exact = (40 * std::exp(-18.0) + 91 * std::exp(-0.5)) / sum;
  on_every_target([&](const std::string& target) {
    for (const bool gathered : {false, true}) {
      AttentionMap map{.blocks = {{0, 1, 0, 3}}, .causal = false, .key_rows = {}};
      if (gathered) map.key_rows = {0, 1, 2};
      std::vector<double> estimate(1), weights(3);
      attention<double>({matrix(q, 1, 1), matrix(k, 3, 1), matrix(v, 3, 1), 1, {Similarity::gaussian, 1}, {}}, map,
                        matrix(estimate, 1, 1), weights);
      EXPECT_NEAR(estimate[0], exact, 1e-10) << target;
      EXPECT_NEAR(estimate[0], 45.4999999, 1e-7) << target;
      EXPECT_NEAR(weights[0] / (std::exp(-18.0) / sum), 1, 1e-10) << target;
      EXPECT_NEAR(weights[0], 1.2555e-8, 1e-12) << target;
      EXPECT_NEAR(weights[1], 0.5, 1e-7) << target;
      EXPECT_NEAR(weights[2], 0.5, 1e-7) << target;
    }
  });
}

// Keys and values kept in bf16 give what the rounded numbers give in f32.
void bf16_equals_rounded(Case<float> c, const std::string& where) {
  std::vector<Bf16> k(c.k.size());
  std::vector<Bf16> v(c.v.size());
  to_bf16(c.k, k);
  to_bf16(c.v, v);
  const AttentionInputs<float, Bf16> inputs{matrix(c.q, c.queries, c.heads * c.d_k),
                                            matrix(std::as_const(k), c.keys, c.heads * c.d_k),
                                            matrix(std::as_const(v), c.keys, c.heads * c.d_v),
                                            c.heads,
                                            c.similarity,
                                            c.dropout};
  attention<float>(inputs, c.map, matrix(c.out, c.queries, c.heads * c.d_v), std::span<float>(c.weights));
  const std::vector<float> found = c.out;
  round_to_bf16(c.k);
  round_to_bf16(c.v);
  c.forward();
  expect_same_bits(in(found), in(c.out), where);
}

// Keys read by index equal the same keys copied to where they belong.
template <class T>
void lookup_equals_direct(Similarity kind, double rate, const std::string& where) {
  const double tolerance = sizeof(T) == 4 ? 3e-6 : 1e-13;
  Case<T> direct = make_case<T>({{1, 4, 1, 3}, {1, 33, 70, 9}, 2, 33, 17}, {kind, 4.5}, false, rate);
  Case<T> cached = direct;
  // Key i of the map lies in row (7 i + 3) mod 150 of the cache; the other rows hold what nobody may read.
  const std::int64_t rows = 150;
  cached.keys = rows;
  cached.k.assign(at(rows * 2 * 33), std::numeric_limits<T>::quiet_NaN());
  cached.v.assign(at(rows * 2 * 17), std::numeric_limits<T>::quiet_NaN());
  for (std::int64_t i = 0; i < direct.keys; ++i) {
    const std::int64_t row = (7 * i + 3) % rows;
    cached.map.key_rows.push_back(static_cast<std::int32_t>(row));
    std::copy_n(direct.k.begin() + i * 66, 66, cached.k.begin() + row * 66);
    std::copy_n(direct.v.begin() + i * 34, 34, cached.v.begin() + row * 34);
  }
  direct.forward();
  cached.forward();
  expect_close(cached.out, in_double(direct.out), tolerance, where + " out");
  expect_close(cached.weights, in_double(direct.weights), tolerance, where + " weights");
  // Where they belong, but looked up there.
  Case<T> looked_up = direct;
  looked_up.map.few_queries = true;
  looked_up.forward();
  expect_same_bits(in(looked_up.out), in(cached.out), where + " out looked up");
  expect_same_bits(in(looked_up.weights), in(cached.weights), where + " weights looked up");
  if constexpr (std::is_same_v<T, float>) bf16_equals_rounded(cached, where + " in bf16");
}

TEST(Attention, KeysByIndexEqualKeysInOrder) {
  on_every_target([](const std::string& target) {
    for (const Similarity kind : kSimilarities) {
      for (const double rate : {0.0, 0.25}) {
        const std::string where = target + " similarity " + std::to_string(static_cast<int>(kind));
        lookup_equals_direct<float>(kind, rate, where + " f32");
        lookup_equals_direct<double>(kind, rate, where + " f64");
      }
    }
  });
}

// A query's row alone, among others of its block, and in a call with other blocks: the same bits.
template <class T>
void company_does_not_matter(Similarity kind, bool gathered, bool few, const std::string& where) {
  const Shape shape{{70, 5, 4}, {9, 37, 66}, 2, 17, 9};
  Case<T> all = make_case<T>(shape, {kind, 3}, false, 0);
  if (gathered) {
    all.map.key_rows.resize(at(all.keys));
    std::iota(all.map.key_rows.rbegin(), all.map.key_rows.rend(), 0);
  }
  all.map.few_queries = few;
  all.forward();
  const std::int64_t width = all.heads * all.d_v;
  for (const AttentionBlock& block : std::vector<AttentionBlock>(all.map.blocks)) {
    for (const std::int64_t query : {block.query_begin, block.query_end - 1}) {
      Case<T> alone = all;
      alone.map.blocks = {{query, query + 1, block.key_begin, block.key_end}};
      alone.weights.clear();
      alone.forward();
      const std::size_t begin = at(query * width);
      expect_same_bits(in(alone.out).subspan(begin, at(width)), in(all.out).subspan(begin, at(width)),
                       where + " query " + std::to_string(query));
    }
  }
}

TEST(Attention, OtherQueriesAndBlocksDoNotMatter) {
  on_every_target([](const std::string& target) {
    for (const Similarity kind : kSimilarities) {
      for (const auto& [gathered, few] : {std::pair{false, false}, {true, false}, {false, true}}) {
        const std::string where = target + " similarity " + std::to_string(static_cast<int>(kind)) +
                                  (gathered ? " gathered"
                                   : few    ? " few queries"
                                            : "");
        company_does_not_matter<float>(kind, gathered, few, where + " f32");
        company_does_not_matter<double>(kind, gathered, few, where + " f64");
      }
    }
  });
}

// A causal query's row is that of the query with its past as all there is: the same bits, with and without weights
// kept, whatever comes after it. Weights of keys in the future are 0.
template <class T>
void future_does_not_matter(Similarity kind, double rate, const std::string& where) {
  Case<T> all = make_case<T>({{150, 64, 1}, {}, 2, 17, 9}, {kind, 3}, true, rate);
  all.forward();
  const std::int64_t width = all.heads * all.d_v;
  std::int64_t number = 0;
  for (const AttentionBlock& block : all.map.blocks) {
    const std::int64_t length = block.query_end - block.query_begin;
    for (std::int64_t head = 0; head < all.heads; ++head) {
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t j = 0; j < length; ++j) {
          const T weight = all.weights[at(number++)];
          EXPECT_TRUE(j > i ? weight == 0 : weight > 0) << where << " weight " << i << ", " << j;
        }
      }
    }
  }
  if (rate > 0) return;  // the mask depends on the weight's number
  Case<T> past = all;
  past.map.causal = false;
  past.map.blocks.clear();
  for (const AttentionBlock& block : all.map.blocks) {
    for (std::int64_t i = 0; i < block.query_end - block.query_begin; ++i) {
      past.map.blocks.push_back(
          {block.query_begin + i, block.query_begin + i + 1, block.key_begin, block.key_begin + i + 1});
    }
  }
  past.weights.clear();
  past.forward();
  expect_same_bits(in(all.out).subspan(0, at(215 * width)), in(past.out).subspan(0, at(215 * width)), where);
}

TEST(Attention, TheFutureDoesNotMatter) {
  on_every_target([](const std::string& target) {
    for (const Similarity kind : kSimilarities) {
      for (const double rate : {0.0, 0.25}) {
        const std::string where = target + " similarity " + std::to_string(static_cast<int>(kind));
        future_does_not_matter<float>(kind, rate, where + " f32");
        future_does_not_matter<double>(kind, rate, where + " f64");
      }
    }
  });
}

TEST(Attention, ThreadsDoNotMatter) {
  const int before = base::threads();
  std::vector<Case<float>> cases;
  for (const int threads : {1, 3}) {
    base::set_threads(threads);
    cases.push_back(make_case<float>({{65, 17, 63}, {65, 63, 17}, 4, 16, 16}, {}, false, 0.1));
    cases.back().forward();
    cases.back().backward();
  }
  base::set_threads(before);
  for (const auto part :
       {&Case<float>::out, &Case<float>::weights, &Case<float>::dq, &Case<float>::dk, &Case<float>::dv}) {
    expect_same_bits(in(cases[1].*part), in(cases[0].*part), "3 threads");
  }
}

// Two blocks that share keys, as the hypotheses of one source sentence do, still add to the same gradients rightly.
TEST(Attention, SharedKeys) {
  Case<double> c = make_case<double>({{3, 4, 2}, {7, 1, 5}, 2, 5, 3}, {}, false, 0);
  c.map.blocks[1].key_begin = 0;
  c.map.blocks[1].key_end = 7;
  c.weights.assign(at(attention_weight_count(c.map, c.heads)), 0.0);
  Case<double> r = c;
  c.forward();
  c.backward();
  r.reference_forward();
  r.reference_backward();
  expect_close(c.out, r.out, 1e-12, "out");
  expect_close(c.dk, r.dk, 1e-12, "dk");
  expect_close(c.dv, r.dv, 1e-12, "dv");
}

// Gradients written over what was never a number are those added to zeros: with blocks of their own keys, with shared
// keys, and with a key that no query sees.
TEST(Attention, GradientsNeedNoZeros) {
  for (const int kind : {0, 1, 2}) {
    for (const bool causal : {false, true}) {
      Case<double> c = make_case<double>({{3, 70, 2}, {7, 1, 5}, 2, 5, 3}, {}, causal, 0.25);
      if (kind == 1 && !causal) c.map.blocks[1] = {3, 73, 0, 7};
      if (kind == 2 && !causal) c.map.blocks[2].key_end -= 1;
      c.weights.assign(at(attention_weight_count(c.map, c.heads)), 0.0);
      c.forward();
      Case<double> added = c;
      for (const auto part : {&Case<double>::dq, &Case<double>::dk, &Case<double>::dv}) {
        (c.*part).assign((c.*part).size(), std::numeric_limits<double>::quiet_NaN());
        (added.*part).assign((added.*part).size(), 0.0);
      }
      c.backward(false);
      added.backward(true);
      for (const auto part : {&Case<double>::dq, &Case<double>::dk, &Case<double>::dv}) {
        expect_same_bits(in(c.*part), in(added.*part), "kind " + std::to_string(kind));
      }
    }
  }
}

TEST(Attention, WrongMapsAreRefused) {
  Case<float> c = make_case<float>({{2}, {3}, 1, 4, 4}, {}, false, 0);
  c.map.blocks[0].key_end = 4;
  EXPECT_THROW(c.forward(), base::Error);  // more keys than there are
  c.map.blocks[0] = {0, 2, 1, 1};
  EXPECT_THROW(c.forward(), base::Error);  // none
  c.map.blocks[0] = {0, 2, 0, 3};
  c.map.causal = true;
  EXPECT_THROW(c.forward(), base::Error);  // causal and not square
  c.map.blocks[0] = {0, 2, 0, 2};
  c.map.key_rows = {0, 1, 2};
  EXPECT_THROW(c.forward(), base::Error);  // causal by index
  c.map.causal = false;
  c.map.key_rows = {0, 3, 1};
  EXPECT_THROW(c.forward(), base::Error);  // an index outside
  c.map.key_rows = {0, 1, 2};
  c.weights.resize(4);
  EXPECT_NO_THROW(c.forward());
  EXPECT_THROW(c.backward(), base::Error);  // no backward by index
}

}  // namespace
}  // namespace zhuyi::kernels
