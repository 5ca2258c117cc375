#include "data/batcher.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace zhuyi::data {
namespace {

const PairLength& length_of(std::span<const PairLength> lengths, std::int64_t pair) {
  return lengths[static_cast<std::size_t>(pair)];
}

// Cuts pairs, in their order, into batches within the budget.
void cut(std::span<const PairLength> lengths, std::span<const std::int64_t> pairs, std::int64_t budget,
         std::vector<std::vector<std::int64_t>>& batches) {
  PairLength filled;
  bool fresh = true;
  for (const std::int64_t pair : pairs) {
    const PairLength& length = length_of(lengths, pair);
    if (fresh || filled.source + length.source > budget || filled.target + length.target > budget) {
      batches.emplace_back();
      filled = {};
      fresh = false;
    }
    batches.back().push_back(pair);
    filled.source += length.source;
    filled.target += length.target;
  }
}

}  // namespace

std::vector<std::vector<std::int64_t>> plan_epoch(std::span<const PairLength> lengths, const BatcherOptions& options,
                                                  std::int64_t epoch) {
  base::check(options.tokens >= 1 && options.pool >= 1, "batcher: {} tokens and a pool of {}, expected at least 1",
              options.tokens, options.pool);
  base::Random random(base::combine(options.seed, static_cast<std::uint64_t>(epoch)));
  std::vector<std::int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  random.shuffle(std::span<std::int64_t>(order));

  std::vector<std::vector<std::int64_t>> batches;
  const std::int64_t pool_tokens = options.pool * options.tokens;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    for (std::int64_t tokens = 0; end < order.size() && tokens < pool_tokens; ++end) {
      tokens += length_of(lengths, order[end]).target;
    }
    const std::span<std::int64_t> pool(order.data() + begin, end - begin);
    if (options.pool > 1) {
      std::stable_sort(pool.begin(), pool.end(), [&](std::int64_t a, std::int64_t b) {
        const PairLength& x = length_of(lengths, a);
        const PairLength& y = length_of(lengths, b);
        return x.target != y.target ? x.target < y.target : x.source < y.source;
      });
    }
    cut(lengths, pool, options.tokens, batches);
    begin = end;
  }
  if (options.pool > 1) random.shuffle(std::span<std::vector<std::int64_t>>(batches));
  return batches;
}

}  // namespace zhuyi::data
