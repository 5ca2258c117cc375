#include "data/batcher.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/random.h"

namespace zhuyi::data {
namespace {

const PairLength& length_of(std::span<const PairLength> lengths, std::int64_t pair) {
  return lengths[static_cast<std::size_t>(pair)];
}

constexpr const char* kUnits[] = {"each-side", "target", "sum", "sentences"};

// How much of a batch's budget a pair takes; each side of it has its own.
PairLength cost_of(const PairLength& length, BatchUnit unit) {
  switch (unit) {
    case BatchUnit::each_side:
      return length;
    case BatchUnit::target:
      return {0, length.target};
    case BatchUnit::sum:
      return {0, length.source + length.target};
    case BatchUnit::sentences:
      return {0, 1};
  }
  base::fail(base::ErrorKind::internal, "batcher: a unit without a size");
}

// All pairs in random order, as often as their weights say.
std::vector<std::int64_t> draw_order(std::int64_t pairs, std::span<const float> weights, base::Random& random) {
  std::vector<std::int64_t> order;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    if (weights.empty()) {
      order.push_back(pair);
      continue;
    }
    const auto weight = static_cast<double>(weights[static_cast<std::size_t>(pair)]);
    const double whole = std::floor(weight);
    const bool once_more = random.uniform() < weight - whole;
    order.insert(order.end(), static_cast<std::size_t>(whole) + (once_more ? 1 : 0), pair);
  }
  random.shuffle(std::span<std::int64_t>(order));
  return order;
}

std::int64_t longer_side(const PairLength& length) { return std::max(length.source, length.target); }

// Cuts pairs, in their order, into batches within the budget.
void cut(std::span<const PairLength> lengths, std::span<const std::int64_t> pairs, const BatcherOptions& options,
         std::vector<std::vector<std::int64_t>>& batches) {
  const std::int64_t budget = options.tokens;
  PairLength filled;
  bool fresh = true;
  for (const std::int64_t pair : pairs) {
    const PairLength length = cost_of(length_of(lengths, pair), options.unit);
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
                                                  std::int64_t epoch, std::span<const float> weights) {
  base::check(options.tokens >= 1 && options.pool >= 1, "batcher: {} tokens and a pool of {}, expected at least 1",
              options.tokens, options.pool);
  base::Random random(base::combine(options.seed, static_cast<std::uint64_t>(epoch)));
  base::check(weights.empty() || weights.size() == lengths.size(), "batcher: {} weights for {} pairs", weights.size(),
              lengths.size());
  std::vector<std::int64_t> order = draw_order(static_cast<std::int64_t>(lengths.size()), weights, random);

  std::vector<std::vector<std::int64_t>> batches;
  const std::int64_t pool_tokens = options.pool * options.tokens;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    // Without sorting there is nothing to gain from pools, and each ends with a batch that is not full.
    for (std::int64_t tokens = 0; end < order.size() && (options.pool == 1 || tokens < pool_tokens); ++end) {
      tokens += cost_of(length_of(lengths, order[end]), options.unit).target;
    }
    const std::span<std::int64_t> pool(order.data() + begin, end - begin);
    if (options.pool > 1) {
      std::stable_sort(pool.begin(), pool.end(), [&](std::int64_t a, std::int64_t b) {
        return longer_side(length_of(lengths, a)) < longer_side(length_of(lengths, b));
      });
    }
    cut(lengths, pool, options, batches);
    begin = end;
  }
  if (options.pool > 1) random.shuffle(std::span<std::vector<std::int64_t>>(batches));
  return batches;
}

std::string name_of(BatchUnit unit) { return kUnits[static_cast<std::size_t>(unit)]; }

BatchUnit batch_unit_of(const std::string& name) {
  const auto* const found = std::find(std::begin(kUnits), std::end(kUnits), name);
  base::check(found != std::end(kUnits), "'{}' is not what a batch can hold; there are: {}", name,
              fmt::join(std::begin(kUnits), std::end(kUnits), ", "));
  return static_cast<BatchUnit>(found - std::begin(kUnits));
}

}  // namespace zhuyi::data
