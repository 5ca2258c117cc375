#pragma once
// The encoder and decoder stacks of identical layers (paper 3.1, Figure 1).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/attention.h"
#include "nn/cache.h"
#include "nn/feed_forward.h"
#include "nn/residual.h"
#include "tensor/segments.h"

namespace zhuyi::nn {

// Self-attention and feed-forward, each in a residual connection.
class EncoderLayer {
 public:
  EncoderLayer(Declarations& model, const std::string& name, const Config& config);

  // x [tokens, d_model]; the map says which tokens stand in one sentence.
  Var operator()(const Var& x, const MapPtr& map, Run& run) const;

 private:
  MultiHeadAttention self_attention_;
  Residual self_residual_;
  FeedForward feed_forward_;
  Residual feed_forward_residual_;
};

// Masked self-attention, attention over the encoder's output, and feed-forward, each in a residual connection.
class DecoderLayer {
 public:
  DecoderLayer(Declarations& model, const std::string& name, const Config& config);

  // The keys and values of the encoder's output, computed once a sentence.
  KeysValues memory(const Var& encoded, Run& run) const { return cross_attention_.kept_keys_values(encoded, run); }

  // What a token sees besides the memory: with a cache, the rows in it and those of x, as the map says.
  struct Context {
    KeysValues memory;
    MapPtr self_map;
    MapPtr cross_map;
    LayerCache* cache = nullptr;  // none: self-attention is over x itself
  };
  Var operator()(const Var& x, const Context& context, Run& run) const;
  // What decoding keeps of a token, in bytes: its keys and values.
  std::int64_t kept_bytes() const { return self_attention_.kept_bytes(); }

 private:
  MultiHeadAttention self_attention_;
  Residual self_residual_;
  MultiHeadAttention cross_attention_;
  Residual cross_residual_;
  FeedForward feed_forward_;
  Residual feed_forward_residual_;
};

class Encoder {
 public:
  Encoder(Declarations& model, const Config& config);

  // x [tokens, d_model], the sentences one after another.
  Var operator()(const Var& x, const tensor::Segments& sentences, Run& run) const;

 private:
  std::vector<EncoderLayer> layers_;
  std::optional<Norm> norm_;  // pre-norm only
};

class Decoder {
 public:
  Decoder(Declarations& model, const Config& config);

  // All target tokens at once: row i sees rows up to i of its sentence, and all of its source. x [target tokens,
  // d_model].
  Var operator()(const Var& x, const tensor::Segments& targets, const Var& encoded, const tensor::Segments& sources,
                 Run& run) const;

  // Sentences join between two steps, and those in `left` are forgotten: DecoderState::join. encoded [source tokens,
  // d_model].
  void join(const Var& encoded, const tensor::Segments& sources, std::span<const std::int64_t> left,
            DecoderState& state, Run& run) const;
  // One token a hypothesis: x [hypotheses, d_model]. Hypotheses of one sentence stand side by side.
  Var step(const Var& x, std::span<const Continuation> hypotheses, DecoderState& state, Run& run) const;
  // What decoding keeps of a token of a source, and of one of a hypothesis, in bytes.
  std::int64_t kept_bytes() const;

 private:
  std::vector<DecoderLayer> layers_;
  std::optional<Norm> norm_;  // pre-norm only
};

}  // namespace zhuyi::nn
