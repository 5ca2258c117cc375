#include "train/encoded_corpus.h"

#include "base/parallel.h"

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
    index_.push_back(static_cast<std::int64_t>(i));
    lines_.push_back(pairs[i].line);
    target_tokens_ += length.target;
    ids_.insert(ids_.end(), encoded[i].source.begin(), encoded[i].source.end());
    ids_.insert(ids_.end(), encoded[i].target.begin(), encoded[i].target.end());
  }
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
    batch.lines.push_back(index(pair));
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
  }
  return hash;
}

}  // namespace zhuyi::train
