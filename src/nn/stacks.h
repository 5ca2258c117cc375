#pragma once
// The encoder and decoder stacks of identical layers (paper 3.1, Figure 1), and the decoder's key/value cache.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/residual.h"
#include "tensor/segments.h"

namespace zhuyi::nn {

// Self-attention and feed-forward, each in a residual connection.
class EncoderLayer {
 public:
  EncoderLayer(Parameters& parameters, const std::string& name, const Config& config);

  // x [tokens, d_model]; the map says which tokens stand in one sentence.
  Var operator()(const Var& x, const MapPtr& map, Run& run) const;
  void pack(kernels::Precision precision);

 private:
  MultiHeadAttention self_attention_;
  Residual self_residual_;
  FeedForward feed_forward_;
  Residual feed_forward_residual_;
};

// The keys and values of tokens, a row a token, for one layer: of those produced so far, or of the source.
class LayerCache {
 public:
  // Adds rows and gives all rows so far, which are valid until the next call.
  KeysValues append(const KeysValues& rows);
  KeysValues all() const;
  // Keeps these rows, in ascending order, and forgets the others. When the cache grows again there is room for
  // `capacity` rows.
  void keep(std::span<const std::int64_t> rows, std::int64_t capacity);

 private:
  std::int64_t used_ = 0;
  std::int64_t capacity_ = 0;
  tensor::Tensor keys_;
  tensor::Tensor values_;
};

// Masked self-attention, attention over the encoder's output, and feed-forward, each in a residual connection.
class DecoderLayer {
 public:
  DecoderLayer(Parameters& parameters, const std::string& name, const Config& config);

  // The keys and values of the encoder's output, computed once a sentence.
  KeysValues memory(const Var& encoded, Run& run) const { return kept(cross_attention_.keys_values(encoded, run)); }

  // What a token sees besides the memory: with a cache, the rows in it and those of x, as the map says.
  struct Context {
    KeysValues memory;
    MapPtr self_map;
    MapPtr cross_map;
    LayerCache* cache = nullptr;  // none: self-attention is over x itself
  };
  Var operator()(const Var& x, const Context& context, Run& run) const;
  void pack(kernels::Precision precision);
  // All keys and values are rounded to bf16 from now on, and kept as such: half the memory, for models without
  // gradients.
  void keep_in_bf16() { in_bf16_ = true; }

 private:
  KeysValues kept(KeysValues rows) const;

  bool in_bf16_ = false;
  MultiHeadAttention self_attention_;
  Residual self_residual_;
  MultiHeadAttention cross_attention_;
  Residual cross_residual_;
  FeedForward feed_forward_;
  Residual feed_forward_residual_;
};

class Encoder {
 public:
  Encoder(Parameters& parameters, const Config& config);

  // x [tokens, d_model], the sentences one after another.
  Var operator()(const Var& x, const tensor::Segments& sentences, Run& run) const;
  void pack(kernels::Precision precision);

 private:
  std::vector<EncoderLayer> layers_;
  std::optional<Norm> norm_;  // pre-norm only
};

// What incremental decoding keeps of the past: for each layer the memory's and the produced tokens' keys and values,
// and for each live hypothesis where its own tokens lie in them. Reordering hypotheses moves indices, not keys.
struct DecoderState {
  struct Layer {
    LayerCache memory;  // of the sources
    LayerCache cache;   // of the tokens produced so far
  };
  // Rows [begin, end) of the memory; none for a sentence that has left.
  struct Source {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  std::vector<Layer> layers;
  std::vector<Source> sources;                       // of every sentence that ever joined, in that order
  std::vector<std::vector<std::int32_t>> histories;  // cache rows of each hypothesis of the last step
  std::vector<std::int64_t> owners;                  // the sentence of each hypothesis of the last step
  std::int64_t rows = 0;                             // cache rows used
  std::int64_t row_limit = 0;                        // rows that there is room for; then unneeded ones are dropped
};

// One live hypothesis of a step: which sentence it translates and which hypothesis of the last step it continues.
struct Continuation {
  std::int64_t sentence = 0;
  std::int64_t parent = -1;  // -1: it is the first step
};

class Decoder {
 public:
  Decoder(Parameters& parameters, const Config& config);

  // All target tokens at once: row i sees rows up to i of its sentence, and all of its source. x [target tokens,
  // d_model].
  Var operator()(const Var& x, const tensor::Segments& targets, const Var& encoded, const tensor::Segments& sources,
                 Run& run) const;

  // Sentences join between two steps, numbered on from those before; those in `left` are forgotten. What is kept is
  // copied together, so that the caches hold nothing else. encoded [source tokens, d_model].
  void join(const Var& encoded, const tensor::Segments& sources, std::span<const std::int64_t> left,
            DecoderState& state, Run& run) const;
  // One token a hypothesis: x [hypotheses, d_model]. Hypotheses of one sentence stand side by side.
  Var step(const Var& x, std::span<const Continuation> hypotheses, DecoderState& state, Run& run) const;
  void pack(kernels::Precision precision);
  void keep_in_bf16();

 private:
  std::vector<DecoderLayer> layers_;
  std::optional<Norm> norm_;  // pre-norm only
};

}  // namespace zhuyi::nn
