#include "nn/attention.h"

namespace zhuyi::nn {
namespace {

// As if W_Q, W_K and W_V were drawn as the one matrix that others (T2T, fairseq) make of them: learning starts sooner
// (docs/training.md).
constexpr double kGain = 0.70710678118654752;

}  // namespace

MultiHeadAttention::MultiHeadAttention(Declarations& model, const std::string& name, const Config& config)
    : query_(model, name + ".query", config.d_model, config.heads * config.key_width(), config.biases, kGain),
      key_(model, name + ".key", config.d_model, config.heads * config.key_width(), config.biases, kGain),
      value_(model, name + ".value", config.d_model, config.heads * config.value_width(), config.biases, kGain),
      output_(model, name + ".output", config.heads * config.value_width(), config.d_model, config.biases),
      options_{config.heads, {config.similarity, config.bandwidth}, config.attention_dropout} {}

KeysValues MultiHeadAttention::keys_values(const Var& memory, Run& run) const {
  return {key_(memory, run), value_(memory, run)};
}

Var MultiHeadAttention::attend(const Var& x, const KeysValues& memory, const MapPtr& map, Run& run) const {
  return output_(ops::attention(query_(x, run), memory.keys, memory.values, map, options_, run), run);
}

KeysValues MultiHeadAttention::kept_keys_values(const Var& memory, Run& run) const {
  const auto kept = [](const Var& rows, const Linear& linear) {
    const tensor::DType dtype = linear.weight().kept();
    return rows.value().dtype() == dtype ? rows : Var(rows.value().to(dtype));
  };
  return {kept(key_(memory, run), key_), kept(value_(memory, run), value_)};
}

std::int64_t MultiHeadAttention::kept_bytes() const {
  const auto bytes = [](const ops::Weight& weight) { return weight.outputs() * tensor::bytes_of(weight.kept()); };
  return bytes(key_.weight()) + bytes(value_.weight());
}

}  // namespace zhuyi::nn
