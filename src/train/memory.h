#pragma once
// How much memory training takes, as a function of sizes alone, and batches cut to fit into it.

#include <cstdint>
#include <span>
#include <vector>

#include "data/batcher.h"
#include "nn/config.h"
#include "train/encoded_corpus.h"

namespace zhuyi::train {

// Bytes that are there as long as the run: weights, gradients, two moments, and the program itself.
std::int64_t resident_bytes(const nn::Config& config);

// Bytes that one forward and backward pass over pairs of these lengths adds at its peak: what every operation keeps for
// its gradient, the gradients on their way, the block of logits. An upper estimate, within about a quarter.
std::int64_t pass_bytes(const nn::Config& config, std::span<const data::PairLength> lengths);

// Bytes that are left for a pass when a process of `memory` bytes in all has a model of this configuration and this
// corpus in it. 0 for a memory of 0, which is no limit. Throws invalid_argument when nothing is left.
std::int64_t pass_limit(std::int64_t memory, const nn::Config& config, const EncodedCorpus& corpus);

// The pairs of a batch (indices into `lengths`) in consecutive pieces, each of which passes within `limit` bytes, as
// few and as even as halving gives; a single pair may take more. A limit of 0 is none.
std::vector<std::vector<std::int64_t>> split_to_fit(std::span<const std::int64_t> pairs,
                                                    std::span<const data::PairLength> lengths, const nn::Config& config,
                                                    std::int64_t limit);

}  // namespace zhuyi::train
