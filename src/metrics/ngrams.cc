#include "metrics/ngrams.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace zhuyi::metrics {
namespace {

// The n-grams of one order: a number for each position of the hypothesis and then of the reference, equal for equal
// n-grams.
using Ranks = std::vector<std::uint32_t>;

struct Ranked {
  Ranks ranks;
  NgramCounts counts;
};

// Numbers equal keys alike. The first `hypothesis_size` keys are the hypothesis's.
Ranked rank(const std::vector<std::uint64_t>& keys, std::int64_t hypothesis_size) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> sorted;
  sorted.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) sorted.emplace_back(keys[i], static_cast<std::int64_t>(i));
  std::sort(sorted.begin(), sorted.end());
  Ranked result;
  result.ranks.resize(keys.size());
  std::uint32_t next = 0;
  for (std::size_t begin = 0; begin < sorted.size(); ++next) {
    std::size_t end = begin;
    std::int64_t in_hypothesis = 0;
    for (; end < sorted.size() && sorted[end].first == sorted[begin].first; ++end) {
      result.ranks[static_cast<std::size_t>(sorted[end].second)] = next;
      in_hypothesis += sorted[end].second < hypothesis_size ? 1 : 0;
    }
    const std::int64_t in_reference = static_cast<std::int64_t>(end - begin) - in_hypothesis;
    result.counts.hypothesis += in_hypothesis;
    result.counts.reference += in_reference;
    result.counts.matches += std::min(in_hypothesis, in_reference);
    begin = end;
  }
  return result;
}

}  // namespace

NgramCounts& NgramCounts::operator+=(const NgramCounts& other) {
  hypothesis += other.hypothesis;
  reference += other.reference;
  matches += other.matches;
  return *this;
}

std::vector<NgramCounts> count_ngrams(std::span<const std::uint32_t> hypothesis,
                                      std::span<const std::uint32_t> reference, std::int64_t orders) {
  base::check(orders >= 0, "count_ngrams: {} orders, expected 0 or more", orders);
  std::vector<NgramCounts> counts(static_cast<std::size_t>(orders));
  // An n-gram is the (n-1)-gram at its position and the symbol behind it, so that a key of two numbers names it
  // exactly.
  Ranks hypothesis_ranks(hypothesis.size(), 0);
  Ranks reference_ranks(reference.size(), 0);
  for (std::size_t n = 1; n <= counts.size(); ++n) {
    std::vector<std::uint64_t> keys;
    const auto append = [&](std::span<const std::uint32_t> symbols, const Ranks& shorter) {
      for (std::size_t i = 0; i + n <= symbols.size(); ++i) {
        keys.push_back(std::uint64_t{shorter[i]} << 32 | symbols[i + n - 1]);
      }
    };
    append(hypothesis, hypothesis_ranks);
    const std::size_t in_hypothesis = keys.size();
    append(reference, reference_ranks);
    if (keys.empty()) break;
    const Ranked ranked = rank(keys, static_cast<std::int64_t>(in_hypothesis));
    counts[n - 1] = ranked.counts;
    const auto middle = ranked.ranks.begin() + static_cast<std::ptrdiff_t>(in_hypothesis);
    hypothesis_ranks.assign(ranked.ranks.begin(), middle);
    reference_ranks.assign(middle, ranked.ranks.end());
  }
  return counts;
}

}  // namespace zhuyi::metrics
