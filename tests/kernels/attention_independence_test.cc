// What a query's attention must not depend on: other queries and blocks, the future, threads. To the bit, on every
// instruction set.

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "kernels/attention_cases.h"

namespace zhuyi::kernels {
namespace {

// A query's row alone, among others of its block, and in a call with other blocks: the same bits.
template <class T>
void company_does_not_matter(Similarity kind, bool gathered, bool few, const std::string& where) {
  const AttentionShape shape{{70, 5, 4}, {9, 37, 66}, 2, 17, 9};
  AttentionCase<T> all = make_case<T>(shape, {kind, 3}, false, 0);
  if (gathered) {
    all.map.key_rows.resize(at(all.keys));
    std::iota(all.map.key_rows.rbegin(), all.map.key_rows.rend(), 0);
  }
  all.few_queries = few;
  all.forward();
  const std::int64_t width = all.heads * all.d_v;
  for (const AttentionBlock& block : std::vector<AttentionBlock>(all.map.blocks)) {
    for (const std::int64_t query : {block.query_begin, block.query_end - 1}) {
      AttentionCase<T> alone = all;
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
  AttentionCase<T> all = make_case<T>({{150, 64, 1}, {}, 2, 17, 9}, {kind, 3}, true, rate);
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
  AttentionCase<T> past = all;
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
  std::vector<AttentionCase<float>> cases;
  for (const int threads : {1, 3}) {
    base::set_threads(threads);
    cases.push_back(make_case<float>({{65, 17, 63}, {65, 63, 17}, 4, 16, 16}, {}, false, 0.1));
    cases.back().forward();
    cases.back().backward();
  }
  base::set_threads(before);
  for (const auto part : {&AttentionCase<float>::out, &AttentionCase<float>::weights, &AttentionCase<float>::dq,
                          &AttentionCase<float>::dk, &AttentionCase<float>::dv}) {
    expect_same_bits(in(cases[1].*part), in(cases[0].*part), "3 threads");
  }
}

}  // namespace
}  // namespace zhuyi::kernels
