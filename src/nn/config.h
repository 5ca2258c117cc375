#pragma once
// The model's configuration: every variant of the paper's Table 3, and what later systems changed, by values alone.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/attention.h"
#include "kernels/rows.h"
#include "kernels/vector.h"

namespace zhuyi::nn {

// Where layer norm stands: after the residual sum (paper 3.1) or before the sub-layer, with one more at the stack's
// end.
enum class NormPlacement { post, pre };
enum class NormKind { layer, rms };
// How positions enter: sinusoids interleaved as in the paper (3.5), as halves with the frequencies of Tensor2Tensor and
// Marian, as halves with the paper's frequencies; learned vectors (Table 3, row E); none.
enum class Positions { interleaved, halves_marian, halves, learned, none };
// Which matrices are one: source embedding, target embedding and output projection (paper 3.4); the last two; none.
enum class Tying { all, output, none };

struct Config {
  std::int64_t source_vocabulary = 0;  // pieces
  std::int64_t target_vocabulary = 0;
  std::int64_t d_model = 512;
  std::int64_t d_ff = 2048;
  std::int64_t heads = 8;
  std::int64_t d_k = 0;  // width of a head's queries and keys; 0: d_model / heads
  std::int64_t d_v = 0;  // width of a head's values; 0: d_model / heads
  std::int64_t encoder_layers = 6;
  std::int64_t decoder_layers = 6;
  double dropout = 0.1;             // of sub-layer outputs and embeddings (paper 5.4)
  double attention_dropout = 0;     // of attention weights
  double feed_forward_dropout = 0;  // inside the feed-forward, after the activation
  double label_smoothing = 0.1;     // paper 5.4
  kernels::SmoothingForm smoothing_form = kernels::SmoothingForm::marian;
  NormPlacement norm_placement = NormPlacement::post;
  NormKind norm = NormKind::layer;
  double norm_epsilon = 1e-6;
  kernels::Activation activation = kernels::Activation::relu;
  bool gated = false;  // activation(x W_gate) * (x W_input): GLU variants (Shazeer, 2020)
  Positions positions = Positions::interleaved;
  std::int64_t max_positions = 1024;  // of learned positions; sinusoids have no limit
  Tying tying = Tying::all;
  bool biases = true;  // of the projections and the feed-forward
  bool output_bias = false;
  kernels::Similarity similarity = kernels::Similarity::scaled_dot;
  double bandwidth = 1;  // of the Gaussian similarity

  std::int64_t key_width() const { return d_k > 0 ? d_k : d_model / heads; }
  std::int64_t value_width() const { return d_v > 0 ? d_v : d_model / heads; }
};

// Calls field(name, description, reference to the field) for every field, in order: flags, JSON and help come from
// here.
template <class C, class Field>
void for_each_field(C& config, Field&& field) {
  field("source-vocabulary", "source pieces", config.source_vocabulary);
  field("target-vocabulary", "target pieces", config.target_vocabulary);
  field("d-model", "width of every sub-layer's output", config.d_model);
  field("d-ff", "inner width of the feed-forward", config.d_ff);
  field("heads", "attention heads", config.heads);
  field("d-k", "width of a head's queries and keys (0: d-model / heads)", config.d_k);
  field("d-v", "width of a head's values (0: d-model / heads)", config.d_v);
  field("encoder-layers", "layers of the encoder", config.encoder_layers);
  field("decoder-layers", "layers of the decoder", config.decoder_layers);
  field("dropout", "of sub-layer outputs and embeddings", config.dropout);
  field("attention-dropout", "of attention weights", config.attention_dropout);
  field("feed-forward-dropout", "inside the feed-forward", config.feed_forward_dropout);
  field("label-smoothing", "share of probability taken from the target", config.label_smoothing);
  field("smoothing-form", "where that share goes: marian (all pieces) or fairseq (all others)", config.smoothing_form);
  field("norm-placement", "post (the paper) or pre", config.norm_placement);
  field("norm", "layer or rms", config.norm);
  field("norm-epsilon", "added to the variance", config.norm_epsilon);
  field("activation", "relu, gelu, silu or identity", config.activation);
  field("gated", "gated feed-forward", config.gated);
  field("positions", "interleaved (the paper), halves-marian, halves, learned or none", config.positions);
  field("max-positions", "of learned positions", config.max_positions);
  field("tying", "one matrix for: all (both embeddings and the output), output, none", config.tying);
  field("biases", "of projections and feed-forward", config.biases);
  field("output-bias", "of the output projection", config.output_bias);
  field("attention-similarity", "scaled-dot, dot or gaussian", config.similarity);
  field("bandwidth", "of the Gaussian similarity", config.bandwidth);
}

// The words for the values of an enumeration field.
template <class E>
struct Names;
template <>
struct Names<NormPlacement> {
  static constexpr std::pair<NormPlacement, std::string_view> values[] = {{NormPlacement::post, "post"},
                                                                          {NormPlacement::pre, "pre"}};
};
template <>
struct Names<NormKind> {
  static constexpr std::pair<NormKind, std::string_view> values[] = {{NormKind::layer, "layer"},
                                                                     {NormKind::rms, "rms"}};
};
template <>
struct Names<Positions> {
  static constexpr std::pair<Positions, std::string_view> values[] = {{Positions::interleaved, "interleaved"},
                                                                      {Positions::halves_marian, "halves-marian"},
                                                                      {Positions::halves, "halves"},
                                                                      {Positions::learned, "learned"},
                                                                      {Positions::none, "none"}};
};
template <>
struct Names<Tying> {
  static constexpr std::pair<Tying, std::string_view> values[] = {
      {Tying::all, "all"}, {Tying::output, "output"}, {Tying::none, "none"}};
};
template <>
struct Names<kernels::SmoothingForm> {
  static constexpr std::pair<kernels::SmoothingForm, std::string_view> values[] = {
      {kernels::SmoothingForm::marian, "marian"}, {kernels::SmoothingForm::fairseq, "fairseq"}};
};
template <>
struct Names<kernels::Activation> {
  static constexpr std::pair<kernels::Activation, std::string_view> values[] = {
      {kernels::Activation::identity, "identity"},
      {kernels::Activation::relu, "relu"},
      {kernels::Activation::gelu, "gelu"},
      {kernels::Activation::silu, "silu"}};
};
template <>
struct Names<kernels::Similarity> {
  static constexpr std::pair<kernels::Similarity, std::string_view> values[] = {
      {kernels::Similarity::scaled_dot, "scaled-dot"},
      {kernels::Similarity::dot, "dot"},
      {kernels::Similarity::gaussian, "gaussian"}};
};

// The word of an enumeration value, and the value of a word (throws invalid_argument listing the words).
template <class E>
std::string word_of(E value);
template <class E>
E value_of(const std::string& word);

// Throws invalid_argument naming every field that cannot be (sizes, rates, heads that do not divide the width, tying of
// vocabularies of different sizes).
void validate(const Config& config);

// JSON with every field by name. from_json throws bad_model for missing, unknown or impossible fields.
nlohmann::json to_json(const Config& config);
Config config_from_json(const nlohmann::json& json);

// The named configurations: tiny, small, base, big, and the rows of the paper's Table 3 (table3-a-h1, table3-b-dk16,
// ...). Vocabulary sizes are left to the caller.
std::vector<std::string> preset_names();
// Throws invalid_argument listing the names.
Config preset(const std::string& name);

}  // namespace zhuyi::nn
