#include "train/memory.h"

#include <algorithm>

#include "base/error.h"

namespace zhuyi::train {
namespace {

constexpr std::int64_t kNumber = 4;                        // bytes of an f32
constexpr std::int64_t kProgram = std::int64_t{64} << 20;  // code, vocabulary, buffers of the system
constexpr std::int64_t kLogits = std::int64_t{1} << 24;    // numbers of a block of logits, see ops::projection_loss
constexpr std::int64_t kLeastLogitRows = 128;

// Numbers a token leaves in one feed-forward: inner, active, dropped, the gate's two.
std::int64_t feed_forward_numbers(const nn::Config& c) {
  return c.d_ff * (2 + (c.feed_forward_dropout > 0 ? 1 : 0) + (c.gated ? 2 : 0));
}

// Numbers a token leaves in one attention beside the weights: queries and the heads' output, or keys and values.
std::int64_t query_numbers(const nn::Config& c) { return c.heads * (c.key_width() + c.value_width()); }

// A sub-layer's output, the sum with its input, and its norm.
std::int64_t residual_numbers(const nn::Config& c) { return 3 * c.d_model; }

// Of one source token in all layers: self-attention and feed-forward of the encoder, keys and values for the decoder.
std::int64_t source_numbers(const nn::Config& c) {
  const std::int64_t encoder = 2 * query_numbers(c) + feed_forward_numbers(c) + 2 * residual_numbers(c);
  return c.encoder_layers * encoder + c.decoder_layers * query_numbers(c) + 5 * c.d_model;
}

std::int64_t target_numbers(const nn::Config& c) {
  const std::int64_t decoder = 3 * query_numbers(c) + feed_forward_numbers(c) + 3 * residual_numbers(c);
  return c.decoder_layers * decoder + 6 * c.d_model;
}

// Gradients that are alive together on the way back, a token.
std::int64_t backward_numbers(const nn::Config& c) { return 2 * c.d_ff + 4 * c.d_model + query_numbers(c); }

}  // namespace

std::int64_t resident_bytes(const autograd::Parameters& parameters, const optim::Optimizer& optimizer) {
  std::int64_t numbers = 2 * parameters.flat().size();  // weights and gradients
  for (const optim::ConstStateBlock& block : optimizer.state()) numbers += block.values->size();
  return numbers * kNumber + kProgram;
}

std::int64_t corpus_bytes(const EncodedCorpus& corpus) {
  constexpr std::int64_t kPairBytes = 64;  // lengths, offsets, order
  return kNumber * (corpus.source_tokens() + corpus.target_tokens()) + kPairBytes * corpus.size();
}

std::int64_t pass_bytes(const nn::Config& config, std::span<const data::PairLength> lengths) {
  std::int64_t source = 0;
  std::int64_t target = 0;
  std::int64_t weights = 0;  // of attention: a number a head for every query and key, those of the future included
  for (const auto& [s, t] : lengths) {
    source += s;
    target += t;
    weights += config.heads * (config.encoder_layers * s * s + config.decoder_layers * (t * t + t * s));
  }
  const std::int64_t block = std::min(target, std::max(kLeastLogitRows, kLogits / config.target_vocabulary));
  const std::int64_t projection = config.target_vocabulary * block;
  return kNumber * (source * source_numbers(config) + target * target_numbers(config) + weights + projection +
                    (source + target) * backward_numbers(config));
}

std::int64_t pass_limit(std::int64_t memory, std::int64_t resident) {
  if (memory == 0) return 0;
  constexpr double kMebi = 1024.0 * 1024.0;
  base::check(
      memory > resident,
      "memory is {:.0f} MiB, expected more than {:.0f} MiB: the model, its optimizer and the training text alone "
      "take so much",
      static_cast<double>(memory) / kMebi, static_cast<double>(resident) / kMebi);
  return memory - resident;
}

std::vector<std::vector<std::int64_t>> split_to_fit(std::span<const std::int64_t> pairs,
                                                    std::span<const data::PairLength> lengths, const nn::Config& config,
                                                    std::int64_t limit) {
  std::vector<data::PairLength> own;
  for (const std::int64_t pair : pairs) own.push_back(lengths[static_cast<std::size_t>(pair)]);
  if (limit == 0 || pairs.size() <= 1 || pass_bytes(config, own) <= limit) return {{pairs.begin(), pairs.end()}};
  std::vector<std::vector<std::int64_t>> pieces;
  const std::size_t half = pairs.size() / 2;
  for (const std::span<const std::int64_t> part : {pairs.first(half), pairs.subspan(half)}) {
    for (std::vector<std::int64_t>& piece : split_to_fit(part, lengths, config, limit)) {
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

}  // namespace zhuyi::train
