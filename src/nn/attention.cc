#include "nn/attention.h"

namespace zhuyi::nn {
namespace {

// As if W_Q, W_K and W_V were drawn as the one matrix that others (T2T, fairseq) make of them: learning starts sooner
// (docs/training.md).
constexpr double kGain = 0.70710678118654752;

}  // namespace

MultiHeadAttention::MultiHeadAttention(Parameters& parameters, const std::string& name, const Config& config)
    : query_(parameters, name + ".query", config.d_model, config.heads * config.key_width(), config.biases, kGain),
      key_(parameters, name + ".key", config.d_model, config.heads * config.key_width(), config.biases, kGain),
      value_(parameters, name + ".value", config.d_model, config.heads * config.value_width(), config.biases, kGain),
      output_(parameters, name + ".output", config.heads * config.value_width(), config.d_model, config.biases),
      options_{config.heads, {config.similarity, config.bandwidth}, config.attention_dropout} {}

KeysValues MultiHeadAttention::keys_values(const Var& memory, Run& run) const {
  return {key_(memory, run), value_(memory, run)};
}

Var MultiHeadAttention::attend(const Var& x, const KeysValues& memory, const MapPtr& map, Run& run) const {
  return output_(ops::attention(query_(x, run), memory.keys, memory.values, map, options_, run), run);
}

void MultiHeadAttention::pack(kernels::Precision precision) {
  for (Linear* linear : {&query_, &key_, &value_, &output_}) linear->pack(precision);
}

}  // namespace zhuyi::nn
