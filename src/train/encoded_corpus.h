#pragma once
// A corpus as ids, in one block of memory, and batches of it for the model.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "data/batcher.h"
#include "data/pair.h"
#include "nn/transformer.h"
#include "text/subword_sampler.h"
#include "text/tokenizer.h"

namespace zhuyi::train {

// How to cut each pair into other pieces each time it is used. Without samplers: into the usual ones.
struct Sampling {
  std::optional<text::SubwordSampler> source;
  std::optional<text::SubwordSampler> target;
  std::uint64_t seed = 1;
};

// Both sides alike, for an amount above 0; see text::SubwordSampler.
Sampling sampling_of(const text::Tokenizer& source, const text::Tokenizer& target, double amount, std::uint64_t seed);

// Pairs of sentences as ids, each side ended by eos.
class EncodedCorpus {
 public:
  // Encodes the pairs in parallel. Pairs with more than `max_tokens` on a side are left out and counted; 0: no limit.
  EncodedCorpus(std::span<const data::SentencePair> pairs, const text::Tokenizer& source, const text::Tokenizer& target,
                std::int64_t max_tokens);

  std::int64_t size() const { return static_cast<std::int64_t>(lengths_.size()); }
  std::int64_t left_out() const { return left_out_; }
  std::int64_t source_tokens() const { return static_cast<std::int64_t>(ids_.size()) - target_tokens_; }
  std::int64_t target_tokens() const { return target_tokens_; }
  std::span<const data::PairLength> lengths() const { return lengths_; }
  // How often each pair is seen in an epoch; empty: once.
  std::span<const float> weights() const { return weights_; }
  std::span<const std::int32_t> source(std::int64_t pair) const;
  std::span<const std::int32_t> target(std::int64_t pair) const;
  // Which pair of the input the i-th one is.
  std::int64_t index(std::int64_t pair) const { return index_[static_cast<std::size_t>(pair)]; }

  // In which line of its file the i-th pair stood, from 1; 0 where that has no meaning.
  std::int64_t line(std::int64_t pair) const { return lines_[static_cast<std::size_t>(pair)]; }

  // Batches of a step are cut as `sampling` says from now on.
  void sample(Sampling sampling) { sampling_ = std::move(sampling); }

  // These pairs in the usual pieces, and as they are cut for a step: a function of the sampling's seed, the step and
  // index(pair).
  nn::Batch batch(std::span<const std::int64_t> pairs) const;
  nn::Batch batch(std::span<const std::int64_t> pairs, std::int64_t step) const;

  // A number that changes when any id does (FNV-1a), to tell whether a run continues on the same data. With a range: of
  // the pairs from `begin` to before `end`.
  std::uint64_t fingerprint() const { return fingerprint(0, size()); }
  std::uint64_t fingerprint(std::int64_t begin, std::int64_t end) const;

 private:
  std::vector<std::int32_t> ids_;      // source of pair 0, target of pair 0, source of pair 1, ...
  std::vector<std::int64_t> offsets_;  // where each pair begins
  std::vector<data::PairLength> lengths_;
  std::vector<float> weights_;
  std::vector<std::int64_t> index_;
  std::vector<std::int64_t> lines_;
  std::int64_t left_out_ = 0;
  std::int64_t target_tokens_ = 0;
  Sampling sampling_;
};

}  // namespace zhuyi::train
