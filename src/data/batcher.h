#pragma once
// Which pairs make up which batch: a token budget, similar lengths together, an order that is a function of (seed,
// epoch).

#include <cstdint>
#include <span>
#include <vector>

namespace zhuyi::data {

// Tokens of a pair, eos included on both sides.
struct PairLength {
  std::int64_t source = 0;
  std::int64_t target = 0;
};

struct BatcherOptions {
  std::int64_t tokens =
      4096;  // a batch holds at most so many source and so many target tokens (a single pair may hold more)
  std::int64_t pool = 32;  // batches whose pairs are sorted by length together; 1: lengths are mixed
  std::uint64_t seed = 1;
};

// The batches of one epoch as lists of indices into `lengths`: every pair once. The same for the same arguments.
std::vector<std::vector<std::int64_t>> plan_epoch(std::span<const PairLength> lengths, const BatcherOptions& options,
                                                  std::int64_t epoch);

}  // namespace zhuyi::data
