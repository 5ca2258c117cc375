#include "nn/stacks.h"

#include "base/error.h"

namespace zhuyi::nn {

using base::check;
using kernels::AttentionMap;
using tensor::Segments;

namespace {

// Sentence i of the queries sees sentence i of the keys.
MapPtr map_between(const Segments& queries, const Segments& keys, bool causal) {
  check(queries.count() == keys.count(), "attention: {} sentences of queries, {} of keys", queries.count(),
        keys.count());
  auto map = std::make_shared<AttentionMap>();
  map->causal = causal;
  for (std::int64_t i = 0; i < queries.count(); ++i) {
    if (queries.length(i) == 0) continue;
    map->blocks.push_back({queries.begin(i), queries.end(i), keys.begin(i), keys.end(i)});
  }
  return map;
}

}  // namespace

EncoderLayer::EncoderLayer(Declarations& model, const std::string& name, const Config& config)
    : self_attention_(model, name + ".self_attention", config),
      self_residual_(model, name + ".self_attention_norm", config),
      feed_forward_(model, name + ".feed_forward", config),
      feed_forward_residual_(model, name + ".feed_forward_norm", config) {}

Var EncoderLayer::operator()(const Var& x, const MapPtr& map, Run& run) const {
  const Var attended = self_residual_(
      x, [&](const Var& y) { return self_attention_.attend(y, self_attention_.keys_values(y, run), map, run); }, run);
  return feed_forward_residual_(
      attended, [&](const Var& y) { return feed_forward_(y, run); }, run);
}

DecoderLayer::DecoderLayer(Declarations& model, const std::string& name, const Config& config)
    : self_attention_(model, name + ".self_attention", config),
      self_residual_(model, name + ".self_attention_norm", config),
      cross_attention_(model, name + ".cross_attention", config),
      cross_residual_(model, name + ".cross_attention_norm", config),
      feed_forward_(model, name + ".feed_forward", config),
      feed_forward_residual_(model, name + ".feed_forward_norm", config) {}

Var DecoderLayer::operator()(const Var& x, const Context& context, Run& run) const {
  const auto attend_to_past = [&](const Var& y) {
    KeysValues past = self_attention_.kept_keys_values(y, run);
    if (context.cache != nullptr) past = context.cache->append(past);
    return self_attention_.attend(y, past, context.self_map, run);
  };
  const auto attend_to_source = [&](const Var& y) {
    return cross_attention_.attend(y, context.memory, context.cross_map, run);
  };
  const Var past = self_residual_(x, attend_to_past, run);
  const Var source = cross_residual_(past, attend_to_source, run);
  return feed_forward_residual_(
      source, [&](const Var& y) { return feed_forward_(y, run); }, run);
}

Encoder::Encoder(Declarations& model, const Config& config) {
  for (std::int64_t i = 0; i < config.encoder_layers; ++i) {
    layers_.emplace_back(model, fmt::format("encoder.{}", i), config);
  }
  if (config.norm_placement == NormPlacement::pre) norm_.emplace(model, "encoder.norm", config);
}

Var Encoder::operator()(const Var& x, const Segments& sentences, Run& run) const {
  const MapPtr map = map_between(sentences, sentences, false);
  Var states = x;
  for (const EncoderLayer& layer : layers_) states = layer(states, map, run);
  return norm_ ? (*norm_)(states, run) : states;
}

Decoder::Decoder(Declarations& model, const Config& config) {
  for (std::int64_t i = 0; i < config.decoder_layers; ++i) {
    layers_.emplace_back(model, fmt::format("decoder.{}", i), config);
  }
  if (config.norm_placement == NormPlacement::pre) norm_.emplace(model, "decoder.norm", config);
}

Var Decoder::operator()(const Var& x, const Segments& targets, const Var& encoded, const Segments& sources,
                        Run& run) const {
  const MapPtr self_map = map_between(targets, targets, true);
  const MapPtr cross_map = map_between(targets, sources, false);
  Var states = x;
  for (const DecoderLayer& layer : layers_) {
    const KeysValues memory = layer.memory(encoded, run);
    states = layer(states, {memory, self_map, cross_map}, run);
  }
  return norm_ ? (*norm_)(states, run) : states;
}

void Decoder::join(const Var& encoded, const Segments& sources, std::span<const std::int64_t> left, DecoderState& state,
                   Run& run) const {
  state.join(sources, left, layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) state.layer(i).memory.append(layers_[i].memory(encoded, run));
}

Var Decoder::step(const Var& x, std::span<const Continuation> hypotheses, DecoderState& state, Run& run) const {
  state.advance(hypotheses);
  const MapPtr self_map = state.past_map();
  const MapPtr cross_map = state.memory_map();
  Var states = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    DecoderState::Layer& layer = state.layer(i);
    states = layers_[i](states, {layer.memory.all(), self_map, cross_map, &layer.past}, run);
  }
  return norm_ ? (*norm_)(states, run) : states;
}

std::int64_t Decoder::kept_bytes() const {
  std::int64_t bytes = 0;
  for (const DecoderLayer& layer : layers_) bytes += layer.kept_bytes();
  return bytes;
}

}  // namespace zhuyi::nn
