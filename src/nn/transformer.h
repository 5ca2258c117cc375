#pragma once
// The Transformer (paper, Figure 1): encode a source, decode a target, step by step or all at once, and the loss of a
// batch.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "nn/config.h"
#include "nn/embedding.h"
#include "nn/stacks.h"

namespace zhuyi::nn {

// Sentences one after another, without padding.
struct Tokens {
  std::vector<std::int32_t> ids;
  tensor::Segments sentences;

  // Adds a sentence.
  void append(std::span<const std::int32_t> sentence);
};

// Source and target sentences that belong together, in the same order. Both sides end with eos.
struct Batch {
  Tokens source;
  Tokens target;
};

// The encoder's output for some sentences.
struct Memory {
  Var states;  // [source tokens, d_model]
  tensor::Segments sentences;
};

// Some rows of the output projection, copied together.
struct OutputRows {
  std::vector<std::int32_t> ids;
  ops::Weight weight;      // [ids, d_model]
  ConstParameterPtr bias;  // [1, ids], or nullptr
};

// The model: const in every pass, so that one can serve many threads.
class Transformer {
 public:
  // Parameters drawn from `seed`: Xavier for matrices, normal with deviation d_model^-0.5 for embeddings. `bos` is the
  // start token that the decoder reads first (outputs shifted right). Throws invalid_argument for an impossible
  // configuration.
  Transformer(const Config& config, std::int32_t bos, std::uint64_t seed, tensor::DType dtype = tensor::DType::f32);

  // A model for inference whose weights are kept as `storage` says for each of weights(), called once each. Plain
  // weights and the other parameters are zeros, to be filled in.
  using StorageOf = std::function<ops::Storage(const ops::Weight& declared)>;
  Transformer(const Config& config, std::int32_t bos, const StorageOf& storage);

  // The numbers in all parameters of a model of this configuration; room is made for none of them.
  static std::int64_t parameter_count(const Config& config);

  const Config& config() const { return config_; }
  std::int32_t bos() const { return bos_; }
  const autograd::Parameters& parameters() const { return declared_.parameters; }
  autograd::Parameters& parameters() { return declared_.parameters; }

  // Every sentence needs at least one token.
  Memory encode(const Tokens& source, Run& run) const;
  // The decoder's output for every target token, given those before it: [target tokens, d_model].
  Var decode(const Tokens& target, const Memory& memory, Run& run) const;
  // Sum over target tokens of the smoothed cross-entropy (paper 5.4), and the plain one.
  ops::Loss loss(const Batch& batch, Run& run) const;
  // -log p of every target token: [target tokens, 1].
  tensor::Tensor nll(const Batch& batch) const;
  // Logits of the decoder's output: [tokens, target vocabulary], or [tokens, ids] of some outputs, each number the same
  // as among all. They are put into `room` where it is large enough, else into new memory.
  tensor::Tensor logits(const tensor::Tensor& decoded, const OutputRows* outputs = nullptr,
                        tensor::Tensor room = {}) const;
  // The rows of the output projection for some target pieces.
  OutputRows output_rows(std::span<const std::int32_t> ids) const;

  // Decoding token by token. step() feeds tokens[i] to hypothesis i and gives the decoder's output for what follows:
  // [hypotheses, d_model]. Row i equals the row of the full pass over the hypothesis' tokens.
  // Between steps more sentences may join(), numbered on from those before, and those in `left` are forgotten. With
  // `attention`, every layer's self-attention and its attention over the memory are recorded.
  DecoderState start(const Memory& memory) const;
  void join(const Memory& memory, std::span<const std::int64_t> left, DecoderState& state) const;
  tensor::Tensor step(std::span<const std::int32_t> tokens, std::span<const Continuation> hypotheses,
                      DecoderState& state, std::vector<autograd::AttentionRecord>* attention = nullptr) const;
  // What decoding keeps in memory for each token of a source and of each hypothesis: keys and values of all layers.
  std::int64_t bytes_of_keys_and_values() const;

  // Every parameter that products are with: the weights of the linear maps, and the tables of pieces.
  std::vector<WeightPtr> weights() const { return {declared_.weights.begin(), declared_.weights.end()}; }
  // The word for how most of them are kept (ops::Weight::stored_as).
  std::string_view stored_as() const { return declared_.weights.front()->stored_as(); }
  // Stores every plain weight in the order that inference reads. Afterwards the parameters must not change.
  void pack();
  // What products with weights are computed in while training: f32 or bf16.
  void train_in(kernels::Precision precision);

 private:
  // Declares the parameters; they have no offsets and no values yet.
  Transformer(const Config& config, std::int32_t bos);

  Config config_;
  std::int32_t bos_;
  Declarations declared_;
  std::unique_ptr<Embedding> source_embedding_;
  std::unique_ptr<Embedding> target_embedding_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Decoder> decoder_;
  WeightPtr output_;
  ConstParameterPtr output_bias_;
};

}  // namespace zhuyi::nn
