#pragma once
// How much memory training takes, as a function of sizes alone, and batches that are split to fit into it.

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/parameter.h"
#include "data/batcher.h"
#include "nn/config.h"
#include "optim/optimizer.h"
#include "train/encoded_corpus.h"

namespace zhuyi::train {

// Bytes that are there as long as the run: weights, gradients, the state of the optimiser with its moving average, and
// the program itself. When a run is continued weights and state are there twice for a moment, and the mean of snapshots
// takes three more blocks of weights; both while no pass is under way.
std::int64_t resident_bytes(const autograd::Parameters& parameters, const optim::Optimizer& optimizer);

// Bytes of a corpus in memory.
std::int64_t corpus_bytes(const EncodedCorpus& corpus);

// Bytes that one forward and backward pass over pairs of these lengths adds at its peak: what every operation keeps for
// its gradient, the gradients on their way, the block of logits. An upper estimate, within about a quarter.
std::int64_t pass_bytes(const nn::Config& config, std::span<const data::PairLength> lengths);

// Bytes that are left for a pass in a process of `memory` bytes, `resident` of which are there all the time. 0 for a
// memory of 0, which is no limit. Throws invalid_argument when nothing is left.
std::int64_t pass_limit(std::int64_t memory, std::int64_t resident);

// The pairs of a batch (indices into `lengths`) in consecutive pieces, each of which passes within `limit` bytes, as
// few and as even as halving gives; a single pair may take more. A limit of 0 is none.
std::vector<std::vector<std::int64_t>> split_to_fit(std::span<const std::int64_t> pairs,
                                                    std::span<const data::PairLength> lengths, const nn::Config& config,
                                                    std::int64_t limit);

}  // namespace zhuyi::train
