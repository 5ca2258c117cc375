#pragma once
// Multi-head attention (paper 3.2.2): MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_O.

#include <memory>
#include <string>

#include "nn/config.h"
#include "nn/linear.h"

namespace zhuyi::nn {

// Keys and values of all heads, one row a token: [tokens, heads * d_k] and [tokens, heads * d_v].
struct KeysValues {
  Var keys;
  Var values;
};

using MapPtr = std::shared_ptr<const kernels::AttentionMap>;

// The three uses of 3.2.3 differ only in where keys and values come from and in the map: self-attention of the encoder,
// masked self-attention of the decoder (with or without a cache), encoder-decoder attention.
class MultiHeadAttention {
 public:
  // Adds `name`.{query,key,value,output}.{weight,bias}.
  MultiHeadAttention(Declarations& model, const std::string& name, const Config& config);

  // W_K and W_V applied to a memory [tokens, d_model].
  KeysValues keys_values(const Var& memory, Run& run) const;
  // The same as a decoder keeps them from step to step: rounded to bf16 where the weights that give them ask for it.
  KeysValues kept_keys_values(const Var& memory, Run& run) const;
  // What the tokens x [queries, d_model] find among keys and values, where the map says what each may see: [queries,
  // d_model].
  Var attend(const Var& x, const KeysValues& memory, const MapPtr& map, Run& run) const;

  // What a token's keys and values take in a decoder's memory.
  std::int64_t kept_bytes() const;

 private:
  Linear query_;
  Linear key_;
  Linear value_;
  Linear output_;
  ops::AttentionOptions options_;
};

}  // namespace zhuyi::nn
