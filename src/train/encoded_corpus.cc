#include "train/encoded_corpus.h"

#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "base/random.h"

namespace zhuyi::train {
namespace {

constexpr std::int64_t kGrain = 256;  // pairs encoded by one thread at a time

std::span<const std::int32_t> part(const std::vector<std::int32_t>& ids, std::int64_t begin, std::int64_t length) {
  return std::span(ids).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(length));
}

}  // namespace

EncodedCorpus::EncodedCorpus(std::span<const data::SentencePair> pairs, const text::Tokenizer& source,
                             const text::Tokenizer& target, std::int64_t max_tokens) {
  struct Sides {
    std::vector<std::int32_t> source;
    std::vector<std::int32_t> target;
  };
  std::vector<Sides> encoded(pairs.size());
  base::parallel_for(static_cast<std::int64_t>(pairs.size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      encoded[i] = {source.encode(pairs[i].source), target.encode(pairs[i].target)};
      encoded[i].source.push_back(source.eos());
      encoded[i].target.push_back(target.eos());
    }
  });
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const data::PairLength length = {static_cast<std::int64_t>(encoded[i].source.size()),
                                     static_cast<std::int64_t>(encoded[i].target.size())};
    if (max_tokens > 0 && (length.source > max_tokens || length.target > max_tokens)) {
      ++left_out_;
      continue;
    }
    offsets_.push_back(static_cast<std::int64_t>(ids_.size()));
    lengths_.push_back(length);
    weights_.push_back(static_cast<float>(pairs[i].weight));
    index_.push_back(static_cast<std::int64_t>(i));
    lines_.push_back(pairs[i].line);
    target_tokens_ += length.target;
    ids_.insert(ids_.end(), encoded[i].source.begin(), encoded[i].source.end());
    ids_.insert(ids_.end(), encoded[i].target.begin(), encoded[i].target.end());
  }
  const bool all_one = std::all_of(weights_.begin(), weights_.end(), [](float weight) { return weight == 1; });
  if (all_one) weights_.clear();
}

Sampling sampling_of(const text::Tokenizer& source, const text::Tokenizer& target, double amount, std::uint64_t seed) {
  Sampling sampling;
  sampling.seed = seed;
  if (amount == 0) return sampling;
  sampling.source.emplace(source, amount);
  sampling.target = sampling.source;
  if (target.serialized() != source.serialized()) sampling.target.emplace(target, amount);
  return sampling;
}

std::span<const std::int32_t> EncodedCorpus::source(std::int64_t pair) const {
  const auto i = static_cast<std::size_t>(pair);
  return part(ids_, offsets_[i], lengths_[i].source);
}

std::span<const std::int32_t> EncodedCorpus::target(std::int64_t pair) const {
  const auto i = static_cast<std::size_t>(pair);
  return part(ids_, offsets_[i] + lengths_[i].source, lengths_[i].target);
}

nn::Batch EncodedCorpus::batch(std::span<const std::int64_t> pairs) const {
  nn::Batch batch;
  for (const std::int64_t pair : pairs) {
    batch.source.append(source(pair));
    batch.target.append(target(pair));
  }
  return batch;
}

nn::Batch EncodedCorpus::batch(std::span<const std::int64_t> pairs, std::int64_t step) const {
  if (!sampling_.source && !sampling_.target) return batch(pairs);
  struct Sides {
    std::vector<std::int32_t> source;
    std::vector<std::int32_t> target;
  };
  std::vector<Sides> cut(pairs.size());
  const auto side = [](const std::optional<text::SubwordSampler>& sampler, std::span<const std::int32_t> ids,
                       base::Random& random) {
    return sampler ? sampler->sample(ids, random) : std::vector<std::int32_t>(ids.begin(), ids.end());
  };
  constexpr std::int64_t kFewPairs = 4;
  constexpr std::uint64_t kPurpose = 0x7069656365;  // "piece": apart from dropout and order
  base::parallel_for(static_cast<std::int64_t>(pairs.size()), kFewPairs, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      base::Random random(base::combine(sampling_.seed, kPurpose, static_cast<std::uint64_t>(step),
                                        static_cast<std::uint64_t>(index(pairs[i]))));
      cut[i].source = side(sampling_.source, source(pairs[i]), random);
      cut[i].target = side(sampling_.target, target(pairs[i]), random);
    }
  });
  nn::Batch batch;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    batch.source.append(cut[i].source);
    batch.target.append(cut[i].target);
  }
  return batch;
}

std::uint64_t EncodedCorpus::fingerprint(std::int64_t begin, std::int64_t end) const {
  std::uint64_t hash = 0xcbf29ce484222325u ^ static_cast<std::uint64_t>(end - begin);
  const auto add = [&](std::span<const std::int32_t> ids) {
    for (const std::int32_t id : ids) hash = (hash ^ static_cast<std::uint32_t>(id)) * 0x100000001b3u;
  };
  for (std::int64_t pair = begin; pair < end; ++pair) {
    add(source(pair));
    add(target(pair));
    if (weights_.empty()) continue;
    const std::int32_t bits = std::bit_cast<std::int32_t>(weights_[static_cast<std::size_t>(pair)]);
    add(std::span(&bits, 1));
  }
  return hash;
}

}  // namespace zhuyi::train
