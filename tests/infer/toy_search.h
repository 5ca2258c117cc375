#pragma once
// Toy scorers whose probabilities come from tables.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "infer/beam_search.h"
#include "infer/scorer.h"

namespace zhuyi::infer {

using Tokens = std::vector<std::int32_t>;
// The log-probabilities after a prefix (bos not included) of a sentence.
using Table = std::function<std::vector<float>(std::int64_t sentence, const Tokens& prefix)>;

inline constexpr std::int32_t kBos = 0;
inline constexpr std::int32_t kEos = 1;
inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// A scorer of tables. It rebuilds every prefix from the parents it is told, and checks what the interface promises.
class TableScorer : public Scorer {
 public:
  TableScorer(std::int64_t vocabulary, Table table) : vocabulary_(vocabulary), table_(std::move(table)) {}

  std::int64_t vocabulary() const override { return vocabulary_; }

  void step(std::span<const HypothesisStep> live) override {
    EXPECT_FALSE(live.empty());
    std::vector<std::pair<std::int64_t, Tokens>> rows;
    values_.clear();
    for (const auto& [sentence, parent, token] : live) {
      Tokens prefix;
      if (parent == kNoParent) {
        EXPECT_EQ(token, kBos);
      } else {
        EXPECT_EQ(rows_.at(static_cast<std::size_t>(parent)).first, sentence);
        prefix = rows_.at(static_cast<std::size_t>(parent)).second;
        prefix.push_back(token);
        EXPECT_NE(token, kEos);
      }
      EXPECT_TRUE(rows.empty() || rows.back().first <= sentence);
      const std::vector<float> row = table_(sentence, prefix);
      values_.insert(values_.end(), row.begin(), row.end());
      rows.emplace_back(sentence, std::move(prefix));
    }
    rows_ = std::move(rows);
    rows_of_steps.push_back(std::ssize(rows_));
  }

  kernels::ConstMatrix<float> log_probabilities(std::int64_t begin, std::int64_t end) override {
    return kernels::ConstMatrix<float>::dense(values_.data() + begin * vocabulary_, end - begin, vocabulary_);
  }

  std::span<const float> attention(std::int64_t row) const override;
  void forget(std::int64_t sentence) override { forgotten.push_back(sentence); }

  std::vector<std::int64_t> rows_of_steps;
  std::vector<std::int64_t> forgotten;
  std::int64_t source_length = 0;  // of every sentence, for attention

 private:
  std::int64_t vocabulary_;
  Table table_;
  std::vector<std::pair<std::int64_t, Tokens>> rows_;
  std::vector<float> values_;
  mutable std::vector<float> attention_;
};

inline std::uint64_t hash(std::uint64_t seed, const Tokens& prefix) {
  std::uint64_t key = base::mix(seed);
  for (const std::int32_t token : prefix) key = base::combine(key, token + 1);
  return key;
}

// Random probabilities that depend on the whole prefix.
inline std::vector<float> random_row(std::int64_t vocabulary, std::uint64_t seed, const Tokens& prefix) {
  base::Random random(hash(seed, prefix));
  std::vector<double> weights;
  for (std::int64_t i = 0; i < vocabulary; ++i) weights.push_back(std::exp(2 * random.normal()));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<float> row;
  for (const double weight : weights) row.push_back(static_cast<float>(std::log(weight / total)));
  return row;
}

// Coarse values, so that equal sums are frequent; some tokens are impossible.
inline std::vector<float> coarse_row(std::int64_t vocabulary, std::uint64_t seed, const Tokens& prefix) {
  base::Random random(hash(seed, prefix));
  std::vector<float> row;
  for (std::int64_t i = 0; i < vocabulary; ++i) {
    const std::int64_t draw = random.below(5);
    row.push_back(draw == 4 ? kMinusInfinity : -0.5F * static_cast<float>(draw));
  }
  return row;
}

inline SearchOptions toy_options() {
  SearchOptions options;
  options.bos = kBos;
  options.eos = kEos;
  return options;
}

// The attention that the scorer of the tests gives after a prefix: random shares of the source tokens.
inline std::vector<float> toy_attention(std::int64_t source_length, std::int64_t sentence, const Tokens& prefix) {
  base::Random random(hash(base::combine(99, sentence), prefix));
  std::vector<float> shares;
  float total = 0;
  for (std::int64_t i = 0; i < source_length; ++i) {
    shares.push_back(static_cast<float>(random.uniform()) + 0.01F);
    total += shares.back();
  }
  for (float& share : shares) share /= total;
  return shares;
}

inline std::span<const float> TableScorer::attention(std::int64_t row) const {
  const auto& [sentence, prefix] = rows_.at(static_cast<std::size_t>(row));
  attention_ = toy_attention(source_length, sentence, prefix);
  return attention_;
}

inline void expect_same(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].tokens, expected[i].tokens) << "hypothesis " << i;
    EXPECT_EQ(found[i].finished, expected[i].finished) << "hypothesis " << i;
    EXPECT_EQ(found[i].log_probability, expected[i].log_probability) << "hypothesis " << i;
    EXPECT_EQ(found[i].token_log_probabilities, expected[i].token_log_probabilities) << "hypothesis " << i;
    EXPECT_DOUBLE_EQ(found[i].score, expected[i].score) << "hypothesis " << i;
  }
}

}  // namespace zhuyi::infer
