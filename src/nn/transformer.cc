#include "nn/transformer.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "kernels/gemm.h"

namespace zhuyi::nn {

using autograd::Initialization;
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

// Each sentence moved one place to the right behind `bos`, its last token gone (paper 3.1, "outputs shifted right").
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
  parameters_.lay_out(dtype, seed);
}

Transformer::Transformer(const Config& config, std::int32_t bos, kernels::Precision precision, const Int8Source& int8)
    : Transformer(config, bos) {
  precision_ = precision;
  if (precision != kernels::Precision::f32) decoder_->keep_in_bf16();
  if (precision == kernels::Precision::int8) {
    for (const ops::Weight& weight : weights()) {
      weight.parameter->int8 = int8(weight);
      check(weight.parameter->int8->rows() == weight.inputs() && weight.parameter->int8->columns() == weight.outputs(),
            "transformer: {} in 8 bits is [{}, {}], expected [{}, {}]", weight.parameter->name,
            weight.parameter->int8->rows(), weight.parameter->int8->columns(), weight.inputs(), weight.outputs());
    }
  }
  parameters_.lay_out(tensor::DType::f32, std::nullopt);
}

std::vector<ops::Weight> Transformer::weights() const {
  std::vector<ops::Weight> list;
  for (const ParameterPtr& parameter : parameters_.list()) {
    if (parameter->initialization.kind == Initialization::Kind::xavier) list.push_back({parameter, false});
  }
  for (const char* table : {"embedding", "source_embedding", "target_embedding", "output_projection"}) {
    if (const ParameterPtr parameter = parameters_.find(table)) list.push_back({parameter, true});
  }
  return list;
}

std::int64_t Transformer::parameter_count(const Config& config) { return Transformer(config, 0).parameters().count(); }

Transformer::Transformer(const Config& config, std::int32_t bos) : config_(config), bos_(bos) {
  validate(config);
  check(bos >= 0 && bos < config.target_vocabulary, "transformer: start token {} with {} target pieces", bos,
        config.target_vocabulary);
  const auto table = [&](const char* name, std::int64_t rows, std::int64_t width) {
    return parameters_.add(name, rows, width,
                           {Initialization::Kind::normal, std::pow(static_cast<double>(width), -0.5)});
  };
  const bool one = config.tying == Tying::all;
  const ParameterPtr source = table(one ? "embedding" : "source_embedding", config.source_vocabulary, config.d_model);
  const ParameterPtr target = one ? source : table("target_embedding", config.target_vocabulary, config.d_model);
  const ParameterPtr output =
      config.tying == Tying::none ? table("output_projection", config.target_vocabulary, config.d_model) : target;
  output_.parameter = output;
  output_.transposed = true;
  if (config.output_bias) output_bias_ = parameters_.add("output_bias", 1, config.target_vocabulary, {});
  const bool learned = config.positions == Positions::learned;
  const auto places = [&](const char* name) {
    return learned ? parameters_.add(name, config.max_positions, config.d_model, {Initialization::Kind::normal, 1})
                   : nullptr;
  };
  source_embedding_ = std::make_unique<Embedding>(source, places("source_positions"), config);
  target_embedding_ = std::make_unique<Embedding>(target, places("target_positions"), config);
  encoder_ = std::make_unique<Encoder>(parameters_, config);
  decoder_ = std::make_unique<Decoder>(parameters_, config);
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
  return ops::projection_loss(decoded, output_, output_bias_, batch.target.ids,
                              {config_.label_smoothing, config_.smoothing_form}, run);
}

Tensor Transformer::nll(const Batch& batch) const {
  Run run;
  const Var decoded = decode(batch.target, encode(batch.source, run), run);
  return ops::projection_nll(decoded.value(), output_, output_bias_, batch.target.ids);
}

Var Transformer::logits(const Var& decoded, Run& run) const { return ops::linear(decoded, output_, output_bias_, run); }

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
  std::vector<std::int32_t> positions;
  for (const Continuation& hypothesis : hypotheses) {
    check(hypothesis.parent < static_cast<std::int64_t>(state.histories.size()), "step: parent {} of {} hypotheses",
          hypothesis.parent, state.histories.size());
    const bool first = hypothesis.parent < 0;
    positions.push_back(
        first ? 0 : static_cast<std::int32_t>(state.histories[static_cast<std::size_t>(hypothesis.parent)].size()));
  }
  const Var embedded = (*target_embedding_)(tokens, positions, run);
  return decoder_->step(embedded, hypotheses, state, run).value();
}

Tensor Transformer::logits(const Tensor& decoded, const OutputRows* outputs) const {
  Run run;
  if (outputs == nullptr) return logits(Var(decoded), run).value();
  return ops::linear(Var(decoded), outputs->weight, outputs->bias, run).value();
}

void Transformer::logits_into(const Tensor& decoded, const Tensor& out) const {
  Run run;
  ops::linear_into(decoded, output_, output_bias_, run, out);
}

std::int64_t Transformer::bytes_of_keys_and_values() const {
  const bool half = precision_ != kernels::Precision::f32;
  const tensor::DType dtype = half ? tensor::DType::bf16 : parameters_.list().front()->value.dtype();
  return config_.decoder_layers * config_.heads * (config_.key_width() + config_.value_width()) *
         tensor::bytes_of(dtype);
}

OutputRows Transformer::output_rows(std::span<const std::int32_t> ids) const {
  OutputRows result{.ids = {ids.begin(), ids.end()}, .weight = output_.some_outputs(ids), .bias = nullptr};
  if (!output_bias_) return result;
  result.bias = std::make_shared<autograd::Parameter>();
  result.bias->name = output_bias_->name;
  result.bias->rows = 1;
  result.bias->columns = std::ssize(ids);
  result.bias->value = Tensor(1, std::ssize(ids));
  const std::span<const float> all = output_bias_->value.data<float>();
  const std::span<float> some = result.bias->value.data<float>();
  for (std::size_t i = 0; i < ids.size(); ++i) some[i] = all[static_cast<std::size_t>(ids[i])];
  return result;
}

void Transformer::pack() {
  const bool half = precision_ == kernels::Precision::bf16 && kernels::has_precision(kernels::Precision::bf16);
  const kernels::Precision packed = half ? kernels::Precision::bf16 : kernels::Precision::f32;
  encoder_->pack(packed);
  decoder_->pack(packed);
  output_.pack(packed);
}

}  // namespace zhuyi::nn
