#pragma once
// Toy scorers whose probabilities come from tables, and slow, obvious searches to compare the beam search with.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
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

  kernels::ConstMatrix<float> step(std::span<const HypothesisStep> live) override {
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
    return kernels::ConstMatrix<float>::dense(values_.data(), std::ssize(rows_), vocabulary_);
  }

  std::vector<std::int64_t> rows_of_steps;

 private:
  std::int64_t vocabulary_;
  Table table_;
  std::vector<std::pair<std::int64_t, Tokens>> rows_;
  std::vector<float> values_;
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

inline double penalty(const SearchOptions& options, std::size_t n) {
  const double length = static_cast<double>(n);
  if (options.length_penalty == LengthPenalty::gnmt) return std::pow((5 + length) / 6, options.alpha);
  return options.length_penalty == LengthPenalty::power ? std::pow(length, options.alpha) : 1.0;
}

inline bool contains(const Tokens& tokens, std::int32_t token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

// A hypothesis of the slow search with all that orders it. Its tokens include eos.
struct Slow {
  Tokens tokens;
  std::vector<float> values;
  double sum = 0;
  std::size_t parent = 0;
};

inline Hypothesis as_hypothesis(const Slow& slow, const SearchOptions& options) {
  Hypothesis result{.tokens = slow.tokens, .log_probability = slow.sum, .token_log_probabilities = slow.values};
  if (!slow.tokens.empty()) result.score = slow.sum / penalty(options, slow.tokens.size());
  result.finished = contains(slow.tokens, kEos);
  if (result.finished) result.tokens.pop_back();
  return result;
}

// The rule of beam_search.h, sorting everything. It knows no bound: with Stop::bound it goes on to the maximum length.
inline std::vector<Hypothesis> slow_search(const Table& table, std::int64_t max_length, const SearchOptions& options) {
  const auto beam = static_cast<std::size_t>(options.beam_size);
  const std::int64_t min_length = std::min(options.min_length, max_length - 1);
  std::vector<Slow> live(1);
  std::vector<Hypothesis> finished;
  for (std::int64_t step = 1; step <= max_length && !live.empty(); ++step) {
    std::vector<Slow> all;
    for (std::size_t parent = 0; parent < live.size(); ++parent) {
      const std::vector<float> row = table(0, live[parent].tokens);
      for (std::int32_t token = 0; token < static_cast<std::int32_t>(row.size()); ++token) {
        const float value = row[static_cast<std::size_t>(token)];
        if (value == kMinusInfinity || contains(options.suppressed, token)) continue;
        if (token == kEos && step - 1 < min_length) continue;
        Slow& next = all.emplace_back(live[parent]);
        next.tokens.push_back(token);
        next.values.push_back(value);
        next.sum += static_cast<double>(value);
        next.parent = parent;
      }
    }
    if (all.empty()) break;
    std::sort(all.begin(), all.end(), [](const Slow& a, const Slow& b) {
      return std::tuple(-a.sum, a.parent, -a.values.back(), a.tokens.back()) <
             std::tuple(-b.sum, b.parent, -b.values.back(), b.tokens.back());
    });
    live.clear();
    for (std::size_t rank = 0; rank < std::min(all.size(), 2 * beam); ++rank) {
      const bool ends = all[rank].tokens.back() == kEos;
      if (ends && rank < beam) finished.push_back(as_hypothesis(all[rank], options));
      if (!ends && live.size() < beam) live.push_back(all[rank]);
    }
    if ((options.stop == Stop::beam_finished || beam == 1) && finished.size() >= beam) break;
  }
  std::stable_sort(finished.begin(), finished.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  for (const Slow& slow : live) finished.push_back(as_hypothesis(slow, options));
  finished.resize(std::min(finished.size(), static_cast<std::size_t>(options.n_best)));
  return finished;
}

// Every finished sequence of at most `max_length` tokens, best first.
inline std::vector<Hypothesis> exhaustive(const Table& table, std::int64_t max_length, const SearchOptions& options) {
  std::vector<Hypothesis> result;
  const std::function<void(const Slow&)> visit = [&](const Slow& slow) {
    const std::vector<float> row = table(0, slow.tokens);
    for (std::int32_t token = 0; token < static_cast<std::int32_t>(row.size()); ++token) {
      Slow next = slow;
      next.tokens.push_back(token);
      next.values.push_back(row[static_cast<std::size_t>(token)]);
      next.sum += static_cast<double>(next.values.back());
      if (token == kEos) {
        result.push_back(as_hypothesis(next, options));
      } else if (std::ssize(next.tokens) < max_length) {
        visit(next);
      }
    }
  };
  visit({});
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return result;
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
