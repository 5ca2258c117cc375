#include "nn/stacks.h"

#include <algorithm>

#include "base/error.h"

namespace zhuyi::nn {

using base::check;
using kernels::AttentionMap;
using tensor::Segments;
using tensor::Tensor;

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

// Each hypothesis sees the cache rows of its history.
MapPtr map_of_histories(const std::vector<std::vector<std::int32_t>>& histories) {
  auto map = std::make_shared<AttentionMap>();
  for (std::size_t i = 0; i < histories.size(); ++i) {
    const auto first = static_cast<std::int64_t>(map->key_rows.size());
    map->key_rows.insert(map->key_rows.end(), histories[i].begin(), histories[i].end());
    const auto row = static_cast<std::int64_t>(i);
    map->blocks.push_back({row, row + 1, first, static_cast<std::int64_t>(map->key_rows.size())});
  }
  return map;
}

// Each hypothesis sees its sentence's rows of the memory; hypotheses of one sentence share a block.
MapPtr map_to_sources(std::span<const Continuation> hypotheses, std::span<const DecoderState::Source> sources) {
  auto map = std::make_shared<AttentionMap>();
  map->few_queries = true;
  const auto count = static_cast<std::int64_t>(hypotheses.size());
  for (std::int64_t begin = 0; begin < count;) {
    const std::int64_t sentence = hypotheses[static_cast<std::size_t>(begin)].sentence;
    std::int64_t end = begin + 1;
    while (end < count && hypotheses[static_cast<std::size_t>(end)].sentence == sentence) ++end;
    const DecoderState::Source& source = sources[static_cast<std::size_t>(sentence)];
    map->blocks.push_back({begin, end, source.begin, source.end});
    begin = end;
  }
  return map;
}

// Moves these rows, in ascending order, to the front.
void move_to_front(const Tensor& x, std::span<const std::int64_t> rows) {
  const auto kept = static_cast<std::int64_t>(rows.size());
  for (std::int64_t i = 0; i < kept;) {
    const std::int64_t first = rows[static_cast<std::size_t>(i)];
    std::int64_t end = i + 1;
    while (end < kept && rows[static_cast<std::size_t>(end)] == first + end - i) ++end;
    x.move_rows(first, first + end - i, i);
    i = end;
  }
}

// Forgets the sentences and gives the rows of the memory that are kept.
std::vector<std::int64_t> forget_sources(std::span<const std::int64_t> left, DecoderState& state) {
  for (const std::int64_t sentence : left) {
    check(sentence >= 0 && sentence < std::ssize(state.sources), "join: sentence {} of {} leaves", sentence,
          state.sources.size());
    state.sources[static_cast<std::size_t>(sentence)] = {};
  }
  std::vector<std::int64_t> kept;
  for (DecoderState::Source& source : state.sources) {
    const auto begin = static_cast<std::int64_t>(kept.size());
    for (std::int64_t row = source.begin; row < source.end; ++row) kept.push_back(row);
    source = {begin, static_cast<std::int64_t>(kept.size())};
  }
  return kept;
}

// Renumbers the cache rows so that only those that a hypothesis needs remain, and gives these.
std::vector<std::int64_t> forget_histories(DecoderState& state) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(state.rows), -1);
  for (std::size_t i = 0; i < state.histories.size(); ++i) {
    const DecoderState::Source& source = state.sources[static_cast<std::size_t>(state.owners[i])];
    if (source.begin == source.end) state.histories[i].clear();
    for (const std::int32_t row : state.histories[i]) place[static_cast<std::size_t>(row)] = 0;
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t row = 0; row < state.rows; ++row) {
    std::int64_t& moved = place[static_cast<std::size_t>(row)];
    if (moved < 0) continue;
    moved = static_cast<std::int64_t>(kept.size());
    kept.push_back(row);
  }
  for (std::vector<std::int32_t>& history : state.histories) {
    for (std::int32_t& row : history) row = static_cast<std::int32_t>(place[static_cast<std::size_t>(row)]);
  }
  state.rows = static_cast<std::int64_t>(kept.size());
  return kept;
}

// Room for the rows that are needed, some steps of `hypotheses` more, and a share of the rows, so that the work of
// dropping stays a small part of that of the steps.
std::int64_t room_for(std::int64_t rows, std::int64_t hypotheses) {
  constexpr std::int64_t kSteps = 3;
  constexpr std::int64_t kSpareRows = 16;
  return rows + rows / 4 + kSteps * hypotheses + kSpareRows;
}

// Forgets what only hypotheses without a successor in `next` needed of the past.
void drop_dead_rows(std::span<const Continuation> next, DecoderState& state) {
  std::vector<bool> continued(state.histories.size(), false);
  for (const Continuation& hypothesis : next) {
    if (hypothesis.parent >= 0) continued[static_cast<std::size_t>(hypothesis.parent)] = true;
  }
  for (std::size_t i = 0; i < state.histories.size(); ++i) {
    if (!continued[i]) state.histories[i].clear();
  }
  const std::vector<std::int64_t> rows = forget_histories(state);
  state.row_limit = room_for(state.rows, std::ssize(next));
  for (DecoderState::Layer& layer : state.layers) layer.cache.keep(rows, state.row_limit);
}

}  // namespace

EncoderLayer::EncoderLayer(Parameters& parameters, const std::string& name, const Config& config)
    : self_attention_(parameters, name + ".self_attention", config),
      self_residual_(parameters, name + ".self_attention_norm", config),
      feed_forward_(parameters, name + ".feed_forward", config),
      feed_forward_residual_(parameters, name + ".feed_forward_norm", config) {}

Var EncoderLayer::operator()(const Var& x, const MapPtr& map, Run& run) const {
  const Var attended = self_residual_(
      x, [&](const Var& y) { return self_attention_.attend(y, self_attention_.keys_values(y, run), map, run); }, run);
  return feed_forward_residual_(
      attended, [&](const Var& y) { return feed_forward_(y, run); }, run);
}

void EncoderLayer::pack(kernels::Precision precision) {
  self_attention_.pack(precision);
  feed_forward_.pack(precision);
}

KeysValues LayerCache::append(const KeysValues& rows) {
  const std::int64_t total = used_ + rows.keys.rows();
  const auto add = [&](Tensor& store, const Tensor& added) {
    if (store.columns() != added.columns() || store.rows() < total) {
      const Tensor grown(std::max(total, capacity_), added.columns(), added.dtype());
      if (used_ > 0) grown.slice(0, used_).assign(store.slice(0, used_));
      store = grown;
    }
    store.slice(used_, total).assign(added);
  };
  add(keys_, rows.keys.value());
  add(values_, rows.values.value());
  used_ = total;
  return all();
}

KeysValues LayerCache::all() const { return {Var(keys_.slice(0, used_)), Var(values_.slice(0, used_))}; }

void LayerCache::keep(std::span<const std::int64_t> rows, std::int64_t capacity) {
  capacity_ = capacity;
  used_ = static_cast<std::int64_t>(rows.size());
  move_to_front(keys_, rows);
  move_to_front(values_, rows);
}

DecoderLayer::DecoderLayer(Parameters& parameters, const std::string& name, const Config& config)
    : self_attention_(parameters, name + ".self_attention", config),
      self_residual_(parameters, name + ".self_attention_norm", config),
      cross_attention_(parameters, name + ".cross_attention", config),
      cross_residual_(parameters, name + ".cross_attention_norm", config),
      feed_forward_(parameters, name + ".feed_forward", config),
      feed_forward_residual_(parameters, name + ".feed_forward_norm", config) {}

KeysValues DecoderLayer::kept(KeysValues rows) const {
  if (!in_bf16_) return rows;
  return {Var(rows.keys.value().to(tensor::DType::bf16)), Var(rows.values.value().to(tensor::DType::bf16))};
}

Var DecoderLayer::operator()(const Var& x, const Context& context, Run& run) const {
  const auto attend_to_past = [&](const Var& y) {
    KeysValues past = kept(self_attention_.keys_values(y, run));
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

void DecoderLayer::pack(kernels::Precision precision) {
  self_attention_.pack(precision);
  cross_attention_.pack(precision);
  feed_forward_.pack(precision);
}

Encoder::Encoder(Parameters& parameters, const Config& config) {
  for (std::int64_t i = 0; i < config.encoder_layers; ++i) {
    layers_.emplace_back(parameters, fmt::format("encoder.{}", i), config);
  }
  if (config.norm_placement == NormPlacement::pre) norm_.emplace(parameters, "encoder.norm", config);
}

Var Encoder::operator()(const Var& x, const Segments& sentences, Run& run) const {
  const MapPtr map = map_between(sentences, sentences, false);
  Var states = x;
  for (const EncoderLayer& layer : layers_) states = layer(states, map, run);
  return norm_ ? (*norm_)(states, run) : states;
}

void Encoder::pack(kernels::Precision precision) {
  for (EncoderLayer& layer : layers_) layer.pack(precision);
}

Decoder::Decoder(Parameters& parameters, const Config& config) {
  for (std::int64_t i = 0; i < config.decoder_layers; ++i) {
    layers_.emplace_back(parameters, fmt::format("decoder.{}", i), config);
  }
  if (config.norm_placement == NormPlacement::pre) norm_.emplace(parameters, "decoder.norm", config);
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
  const std::vector<std::int64_t> memory_rows = forget_sources(left, state);
  const std::vector<std::int64_t> cache_rows = forget_histories(state);
  state.row_limit = room_for(state.rows, std::ssize(state.histories));
  state.layers.resize(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    auto& [memory, cache] = state.layers[i];
    memory.keep(memory_rows, std::ssize(memory_rows) + sources.tokens());
    memory.append(layers_[i].memory(encoded, run));
    cache.keep(cache_rows, state.row_limit);
  }
  const auto first = static_cast<std::int64_t>(memory_rows.size());
  for (std::int64_t i = 0; i < sources.count(); ++i) {
    state.sources.push_back({first + sources.begin(i), first + sources.end(i)});
  }
}

Var Decoder::step(const Var& x, std::span<const Continuation> hypotheses, DecoderState& state, Run& run) const {
  for (const auto [sentence, parent] : hypotheses) {
    check(sentence >= 0 && sentence < std::ssize(state.sources), "step: sentence {} of {}", sentence,
          state.sources.size());
    check(parent < static_cast<std::int64_t>(state.histories.size()), "step: parent {} of {} hypotheses", parent,
          state.histories.size());
  }
  if (state.rows + std::ssize(hypotheses) > state.row_limit) drop_dead_rows(hypotheses, state);
  std::vector<std::vector<std::int32_t>> histories;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    const std::int64_t parent = hypotheses[i].parent;
    histories.push_back(parent < 0 ? std::vector<std::int32_t>() : state.histories[static_cast<std::size_t>(parent)]);
    histories.back().push_back(static_cast<std::int32_t>(state.rows + static_cast<std::int64_t>(i)));
  }
  state.histories = std::move(histories);
  state.owners.clear();
  for (const Continuation& hypothesis : hypotheses) state.owners.push_back(hypothesis.sentence);
  state.rows += static_cast<std::int64_t>(hypotheses.size());
  const MapPtr self_map = map_of_histories(state.histories);
  const MapPtr cross_map = map_to_sources(hypotheses, state.sources);
  Var states = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    states = layers_[i](states, {state.layers[i].memory.all(), self_map, cross_map, &state.layers[i].cache}, run);
  }
  return norm_ ? (*norm_)(states, run) : states;
}

void Decoder::pack(kernels::Precision precision) {
  for (DecoderLayer& layer : layers_) layer.pack(precision);
}

void Decoder::keep_in_bf16() {
  for (DecoderLayer& layer : layers_) layer.keep_in_bf16();
}

}  // namespace zhuyi::nn
