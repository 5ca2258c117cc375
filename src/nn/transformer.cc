#include "nn/transformer.h"

#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"

namespace zhuyi::nn {

using base::check;
using tensor::Segments;
using tensor::Tensor;

namespace {

// 0, 1, 2, ... within each sentence.
std::vector<std::int32_t> positions_in(const Segments& sentences) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(sentences.tokens()));
  for (std::int64_t i = 0; i < sentences.count(); ++i) {
    std::iota(positions.begin() + sentences.begin(i), positions.begin() + sentences.end(i), 0);
  }
  return positions;
}

// Each sentence moved one position to the right behind `bos`, its last token gone (paper 3.1, "outputs shifted right").
std::vector<std::int32_t> shifted_right(const Tokens& tokens, std::int32_t bos) {
  std::vector<std::int32_t> shifted(tokens.ids.size());
  for (std::int64_t i = 0; i < tokens.sentences.count(); ++i) {
    std::int32_t previous = bos;
    for (std::int64_t row = tokens.sentences.begin(i); row < tokens.sentences.end(i); ++row) {
      shifted[static_cast<std::size_t>(row)] = previous;
      previous = tokens.ids[static_cast<std::size_t>(row)];
    }
  }
  return shifted;
}

}  // namespace

void Tokens::append(std::span<const std::int32_t> sentence) {
  ids.insert(ids.end(), sentence.begin(), sentence.end());
  sentences.append(static_cast<std::int64_t>(sentence.size()));
}

Transformer::Transformer(const Config& config, std::int32_t bos, std::uint64_t seed, tensor::DType dtype)
    : Transformer(config, bos) {
  parameters().lay_out(dtype, seed);
}

Transformer::Transformer(const Config& config, std::int32_t bos, const StorageOf& storage) : Transformer(config, bos) {
  for (const auto& weight : declared_.weights) {
    weight->keep(storage(*weight));
    parameters().find(weight->name())->in_block = weight->plain() != nullptr;
  }
  parameters().lay_out(tensor::DType::f32, std::nullopt);
}

std::int64_t Transformer::parameter_count(const Config& config) { return Transformer(config, 0).parameters().count(); }

Transformer::Transformer(const Config& config, std::int32_t bos) : config_(config), bos_(bos) {
  validate(config);
  check(bos >= 0 && bos < config.target_vocabulary, "transformer: start token {} with {} target pieces", bos,
        config.target_vocabulary);
  const bool one = config.tying == Tying::all;
  const WeightPtr source =
      declared_.table(one ? "embedding" : "source_embedding", config.source_vocabulary, config.d_model);
  const WeightPtr target = one ? source : declared_.table("target_embedding", config.target_vocabulary, config.d_model);
  output_ = config.tying == Tying::none ? declared_.table("output_projection", config.target_vocabulary, config.d_model)
                                        : target;
  if (config.output_bias) output_bias_ = parameters().add("output_bias", 1, config.target_vocabulary, {});
  const auto positions = [&](const char* name) {
    return config.positions == Positions::learned
               ? parameters().add(name, config.max_positions, config.d_model, {Initialization::Kind::normal, 1})
               : nullptr;
  };
  source_embedding_ = std::make_unique<Embedding>(source, positions("source_positions"), config);
  target_embedding_ = std::make_unique<Embedding>(target, positions("target_positions"), config);
  encoder_ = std::make_unique<Encoder>(declared_, config);
  decoder_ = std::make_unique<Decoder>(declared_, config);
}

Memory Transformer::encode(const Tokens& source, Run& run) const {
  for (std::int64_t i = 0; i < source.sentences.count(); ++i) {
    check(source.sentences.length(i) > 0, "encode: sentence {} has no tokens", i);
  }
  const Var embedded = (*source_embedding_)(source.ids, positions_in(source.sentences), run);
  return {(*encoder_)(embedded, source.sentences, run), source.sentences};
}

Var Transformer::decode(const Tokens& target, const Memory& memory, Run& run) const {
  const Var embedded = (*target_embedding_)(shifted_right(target, bos_), positions_in(target.sentences), run);
  return (*decoder_)(embedded, target.sentences, memory.states, memory.sentences, run);
}

ops::Loss Transformer::loss(const Batch& batch, Run& run) const {
  const Var decoded = decode(batch.target, encode(batch.source, run), run);
  return ops::projection_loss(decoded, *output_, output_bias_, batch.target.ids,
                              {config_.label_smoothing, config_.smoothing_form}, run);
}

Tensor Transformer::nll(const Batch& batch) const {
  Run run;
  const Var decoded = decode(batch.target, encode(batch.source, run), run);
  return ops::projection_nll(decoded.value(), *output_, output_bias_, batch.target.ids);
}

DecoderState Transformer::start(const Memory& memory) const {
  DecoderState state;
  join(memory, {}, state);
  return state;
}

void Transformer::join(const Memory& memory, std::span<const std::int64_t> left, DecoderState& state) const {
  Run run;
  decoder_->join(memory.states, memory.sentences, left, state, run);
}

Tensor Transformer::step(std::span<const std::int32_t> tokens, std::span<const Continuation> hypotheses,
                         DecoderState& state, std::vector<autograd::AttentionRecord>* attention) const {
  check(tokens.size() == hypotheses.size(), "step: {} tokens for {} hypotheses", tokens.size(), hypotheses.size());
  Run run;
  run.attention_records = attention;
  run.few_queries = true;
  std::vector<std::int32_t> positions;
  for (const Continuation& hypothesis : hypotheses) {
    positions.push_back(static_cast<std::int32_t>(state.length(hypothesis.parent)));
  }
  const Var embedded = (*target_embedding_)(tokens, positions, run);
  return decoder_->step(embedded, hypotheses, state, run).value();
}

Tensor Transformer::logits(const Tensor& decoded, const OutputRows* outputs, Tensor room) const {
  Run run;
  run.room = std::move(room);
  const Var rows(decoded);
  return outputs == nullptr ? ops::linear(rows, *output_, output_bias_, run).value()
                            : ops::linear(rows, outputs->weight, outputs->bias, run).value();
}

std::int64_t Transformer::bytes_of_keys_and_values() const { return decoder_->kept_bytes(); }

OutputRows Transformer::output_rows(std::span<const std::int32_t> ids) const {
  OutputRows result{.ids = {ids.begin(), ids.end()}, .weight = output_->subset(ids), .bias = nullptr};
  if (!output_bias_) return result;
  const auto bias = std::make_shared<autograd::Parameter>();
  bias->name = output_bias_->name;
  bias->rows = 1;
  bias->columns = std::ssize(ids);
  bias->value = Tensor(1, std::ssize(ids));
  const std::span<const float> all = output_bias_->value.data<float>();
  const std::span<float> some = bias->value.data<float>();
  for (std::size_t i = 0; i < ids.size(); ++i) some[i] = all[static_cast<std::size_t>(ids[i])];
  result.bias = bias;
  return result;
}

void Transformer::pack() {
  for (const auto& weight : declared_.weights) weight->pack();
}

void Transformer::train_in(kernels::Precision precision) {
  for (const auto& weight : declared_.weights) weight->train_in(precision);
}

}  // namespace zhuyi::nn
