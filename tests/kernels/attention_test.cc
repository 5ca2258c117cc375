// Attention against plain loops in double, for every similarity, with and without causality and dropout, on every
// instruction set; its gradients against central differences.

#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/error.h"
#include "kernels/attention_cases.h"
#include "kernels/quantize.h"

namespace zhuyi::kernels {
namespace {

template <class T>
void equals_reference(const AttentionShape& shape, SimilarityOptions similarity, bool causal, double rate,
                      const std::string& where) {
  const double tolerance = sizeof(T) == 4 ? 3e-5 : 1e-12;
  AttentionCase<T> c = make_case<T>(shape, similarity, causal, rate);
  AttentionCase<double> r = in_f64(c);
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
  const std::vector<AttentionShape> shapes{{{1}, {1}, 1, 1, 1},           {{1, 2, 7}, {3, 1, 65}, 2, 7, 5},
                                           {{17, 63}, {65, 2}, 3, 17, 8}, {{65, 70}, {63, 17}, 2, 16, 65},
                                           {{200, 3}, {9, 130}, 1, 6, 7}, {{33, 18}, {80, 16}, 2, 64, 48}};
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
  const AttentionShape shape{{2, 3}, {3, 4}, 2, 3, 2};
  for (const Similarity kind : kSimilarities) {
    for (const bool causal : {false, true}) {
      for (const double rate : {0.0, 0.25}) {
        AttentionCase<double> c = make_case<double>(shape, {.kind = kind, .bandwidth = 1.5}, causal, rate);
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
void bf16_equals_rounded(AttentionCase<float> c, const std::string& where) {
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
  AttentionCase<T> direct = make_case<T>({{1, 4, 1, 3}, {1, 33, 70, 9}, 2, 33, 17}, {kind, 4.5}, false, rate);
  AttentionCase<T> cached = direct;
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
  AttentionCase<T> looked_up = direct;
  looked_up.few_queries = true;
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

// Two blocks that share keys, as the hypotheses of one source sentence do, still add to the same gradients rightly.
TEST(Attention, SharedKeys) {
  AttentionCase<double> c = make_case<double>({{3, 4, 2}, {7, 1, 5}, 2, 5, 3}, {}, false, 0);
  c.map.blocks[1].key_begin = 0;
  c.map.blocks[1].key_end = 7;
  c.weights.assign(at(attention_weight_count(c.map, c.heads)), 0.0);
  AttentionCase<double> r = c;
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
      AttentionCase<double> c = make_case<double>({{3, 70, 2}, {7, 1, 5}, 2, 5, 3}, {}, causal, 0.25);
      if (kind == 1 && !causal) c.map.blocks[1] = {3, 73, 0, 7};
      if (kind == 2 && !causal) c.map.blocks[2].key_end -= 1;
      c.weights.assign(at(attention_weight_count(c.map, c.heads)), 0.0);
      c.forward();
      AttentionCase<double> added = c;
      for (const auto part : {&AttentionCase<double>::dq, &AttentionCase<double>::dk, &AttentionCase<double>::dv}) {
        (c.*part).assign((c.*part).size(), std::numeric_limits<double>::quiet_NaN());
        (added.*part).assign((added.*part).size(), 0.0);
      }
      c.backward(false);
      added.backward(true);
      for (const auto part : {&AttentionCase<double>::dq, &AttentionCase<double>::dk, &AttentionCase<double>::dv}) {
        expect_same_bits(in(c.*part), in(added.*part), "kind " + std::to_string(kind));
      }
    }
  }
}

TEST(Attention, WrongMapsAreRefused) {
  AttentionCase<float> c = make_case<float>({{2}, {3}, 1, 4, 4}, {}, false, 0);
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
