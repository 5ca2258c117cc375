#pragma once
// Which pairs make up which batch: a token budget, similar lengths together, an order that is a function of (seed,
// epoch).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zhuyi::data {

// Tokens of a pair, eos included on both sides.
struct PairLength {
  std::int64_t source = 0;
  std::int64_t target = 0;
};

// What a batch may hold `tokens` of, at most (a single pair may hold more).
enum class BatchUnit {
  each_side,  // source tokens, and as many target tokens
  target,     // target tokens
  sum,        // source and target tokens together
  sentences,  // pairs
};

struct BatcherOptions {
  std::int64_t tokens = 4096;
  BatchUnit unit = BatchUnit::each_side;
  // Batches whose pairs are sorted by their longer side together, as others must do to save padding; 1: each batch is a
  // random sample, from which a model learns more (docs/training.md).
  std::int64_t pool = 1;
  std::uint64_t seed = 1;
};

// The batches of one epoch as lists of indices into `lengths`: every pair once. The same for the same arguments.
//
// With weights, one a pair: a pair of weight w is there floor(w) times, and once more with probability w - floor(w),
// drawn anew each epoch; so w times on average.
std::vector<std::vector<std::int64_t>> plan_epoch(std::span<const PairLength> lengths, const BatcherOptions& options,
                                                  std::int64_t epoch, std::span<const float> weights = {});

// "each-side", "target", "sum" or "sentences" and back; throws invalid_argument.
std::string name_of(BatchUnit unit);
BatchUnit batch_unit_of(const std::string& name);

}  // namespace zhuyi::data
