// Configurations: presets, JSON, errors that name the field, and numbers of parameters counted by hand.

#include "nn/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "nn/transformer.h"

namespace zhuyi::nn {
namespace {

using testing::HasSubstr;

Config with_vocabulary(Config config, std::int64_t pieces) {
  config.source_vocabulary = config.target_vocabulary = pieces;
  return config;
}

// The message of the error that `body` raises.
template <class Body>
std::string message_of(base::ErrorKind kind, const Body& body) {
  try {
    body();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Preset, EachIsValidAndComesBackFromJson) {
  EXPECT_GE(preset_names().size(), 20u);
  for (const std::string& name : preset_names()) {
    const Config config = with_vocabulary(preset(name), 8000);
    EXPECT_NO_THROW(validate(config)) << name;
    EXPECT_EQ(to_json(config_from_json(to_json(config))), to_json(config)) << name;
  }
  EXPECT_THAT(message_of(base::ErrorKind::invalid_argument, [] { preset("huge"); }), HasSubstr("table3-a-h1"));
}

// "Attention Is All You Need", Table 3: what each row changes of the base model (N 6, d_model 512, d_ff 2048, h 8,
// d_k = d_v 64, dropout 0.1, smoothing 0.1).
TEST(Preset, AreTheRowsOfThePaper) {
  const Config base = preset("base");
  EXPECT_EQ(base.encoder_layers, 6);
  EXPECT_EQ(base.decoder_layers, 6);
  EXPECT_EQ(base.d_model, 512);
  EXPECT_EQ(base.d_ff, 2048);
  EXPECT_EQ(base.heads, 8);
  EXPECT_EQ(base.key_width(), 64);
  EXPECT_EQ(base.value_width(), 64);
  EXPECT_EQ(base.dropout, 0.1);
  EXPECT_EQ(base.label_smoothing, 0.1);
  EXPECT_EQ(base.positions, Positions::interleaved);
  EXPECT_EQ(base.tying, Tying::all);
  const Config big = preset("big");
  EXPECT_EQ(big.d_model, 1024);
  EXPECT_EQ(big.d_ff, 4096);
  EXPECT_EQ(big.heads, 16);
  EXPECT_EQ(big.dropout, 0.3);
  for (const std::int64_t heads : {1, 4, 16, 32}) {
    const Config row = preset(fmt::format("table3-a-h{}", heads));
    EXPECT_EQ(row.heads, heads);
    EXPECT_EQ(row.key_width(), 512 / heads);
    EXPECT_EQ(row.value_width(), 512 / heads);
  }
  EXPECT_EQ(preset("table3-b-dk16").key_width(), 16);
  EXPECT_EQ(preset("table3-b-dk16").value_width(), 64);
  EXPECT_EQ(preset("table3-b-dk32").key_width(), 32);
  for (const std::int64_t layers : {2, 4, 8}) {
    EXPECT_EQ(preset(fmt::format("table3-c-n{}", layers)).encoder_layers, layers);
    EXPECT_EQ(preset(fmt::format("table3-c-n{}", layers)).decoder_layers, layers);
  }
  EXPECT_EQ(preset("table3-c-d256").d_model, 256);
  EXPECT_EQ(preset("table3-c-d256").key_width(), 32);
  EXPECT_EQ(preset("table3-c-d1024").value_width(), 128);
  EXPECT_EQ(preset("table3-c-ff1024").d_ff, 1024);
  EXPECT_EQ(preset("table3-c-ff4096").d_ff, 4096);
  EXPECT_EQ(preset("table3-d-dropout0").dropout, 0);
  EXPECT_EQ(preset("table3-d-dropout0.2").dropout, 0.2);
  EXPECT_EQ(preset("table3-d-smoothing0").label_smoothing, 0);
  EXPECT_EQ(preset("table3-d-smoothing0.2").label_smoothing, 0.2);
  EXPECT_EQ(preset("table3-e-learned").positions, Positions::learned);
}

// By hand, with the paper's joint vocabulary of 37,000 pieces:
//   base: embedding 37000 * 512 = 18,944,000
//     attention: 4 (512 * 512 + 512) = 1,050,624; feed-forward: 512 * 2048 + 2048 + 2048 * 512 + 512 = 2,099,712
//     a norm: 2 * 512 = 1,024
//     encoder layer: 1,050,624 + 2,099,712 + 2 * 1,024 = 3,152,384; six: 18,914,304
//     decoder layer: 2 * 1,050,624 + 2,099,712 + 3 * 1,024 = 4,204,032; six: 25,224,192
//     in all 63,082,496 (the paper says 65 million)
//   big: embedding 37000 * 1024 = 37,888,000
//     attention: 4 (1024 * 1024 + 1024) = 4,198,400; feed-forward: 2 * 1024 * 4096 + 4096 + 1024 = 8,393,728
//     encoder layer: 4,198,400 + 8,393,728 + 2 * 2,048 = 12,596,224; six: 75,577,344
//     decoder layer: 2 * 4,198,400 + 8,393,728 + 3 * 2,048 = 16,796,672; six: 100,780,032
//     in all 214,245,376 (the paper says 213 million)
//   table3-a-h1: one head of width 512 has the matrices of eight of width 64: 63,082,496
//   table3-b-dk16: W_Q and W_K have 8 * 16 = 128 columns
//     attention: 2 (512 * 128 + 128) + (512 * 512 + 512) + (512 * 512 + 512) = 131,328 + 525,312 = 656,640
//     encoder layer: 656,640 + 2,099,712 + 2,048 = 2,758,400; six: 16,550,400
//     decoder layer: 2 * 656,640 + 2,099,712 + 3,072 = 3,416,064; six: 20,496,384
//     in all 55,990,784 (the paper says 58 million)
TEST(ParameterCount, EqualsTheCountByHand) {
  const auto count = [](const char* name) {
    return Transformer::parameter_count(with_vocabulary(preset(name), 37000));
  };
  EXPECT_EQ(count("base"), 63'082'496);
  EXPECT_EQ(count("big"), 214'245'376);
  EXPECT_EQ(count("table3-a-h1"), 63'082'496);
  EXPECT_EQ(count("table3-b-dk16"), 55'990'784);
}

TEST(ParameterCount, IsThatOfTheModel) {
  Config config = with_vocabulary(preset("tiny"), 100);
  config.target_vocabulary = 90;
  config.tying = Tying::none;
  config.positions = Positions::learned;
  config.max_positions = 30;
  config.norm_placement = NormPlacement::pre;
  config.gated = true;
  EXPECT_EQ(Transformer::parameter_count(config), Transformer(config, 1, 0).parameters().count());
}

TEST(Validate, NamesEveryFieldThatCannotBe) {
  const std::pair<const char*, void (*)(Config&)> changes[] = {
      {"source-vocabulary", [](Config& c) { c.source_vocabulary = 0; }},
      {"target-vocabulary", [](Config& c) { c.target_vocabulary = -5; }},
      {"d-model", [](Config& c) { c.d_model = 0; }},
      {"d-model", [](Config& c) { c.d_model = 255, c.heads = 5; }},
      {"d-ff", [](Config& c) { c.d_ff = -1; }},
      {"heads", [](Config& c) { c.heads = 7; }},
      {"heads", [](Config& c) { c.heads = 0; }},
      {"d-k", [](Config& c) { c.d_k = -1; }},
      {"d-v", [](Config& c) { c.d_v = 1 << 20; }},
      {"encoder-layers", [](Config& c) { c.encoder_layers = 0; }},
      {"decoder-layers", [](Config& c) { c.decoder_layers = 1 << 20; }},
      {"dropout", [](Config& c) { c.dropout = 1; }},
      {"attention-dropout", [](Config& c) { c.attention_dropout = -0.1; }},
      {"feed-forward-dropout", [](Config& c) { c.feed_forward_dropout = 2; }},
      {"label-smoothing", [](Config& c) { c.label_smoothing = std::numeric_limits<double>::quiet_NaN(); }},
      {"norm-epsilon", [](Config& c) { c.norm_epsilon = 0; }},
      {"max-positions", [](Config& c) { c.max_positions = 0; }},
      {"bandwidth", [](Config& c) { c.bandwidth = 0; }},
      {"tying", [](Config& c) { c.target_vocabulary = 999; }},
  };
  for (const auto& [field, change] : changes) {
    Config config = with_vocabulary(preset("base"), 1000);
    change(config);
    EXPECT_THAT(message_of(base::ErrorKind::invalid_argument, [&] { validate(config); }), HasSubstr(field));
    EXPECT_THROW(Transformer(config, 1, 0), base::Error) << field;
  }
  Config config = with_vocabulary(preset("base"), 1000);
  config.d_ff = 0;
  config.dropout = 7;
  const std::string both = message_of(base::ErrorKind::invalid_argument, [&] { validate(config); });
  EXPECT_THAT(both, HasSubstr("d-ff"));
  EXPECT_THAT(both, HasSubstr("dropout"));
}

TEST(Json, EveryFieldComesBack) {
  Config config = with_vocabulary(preset("big"), 12345);
  config.target_vocabulary = 54321;
  config.d_k = 11;
  config.d_v = 13;
  config.decoder_layers = 3;
  config.attention_dropout = 0.123456789012345;
  config.feed_forward_dropout = 0.25;
  config.smoothing_form = kernels::SmoothingForm::fairseq;
  config.norm_placement = NormPlacement::pre;
  config.norm = NormKind::rms;
  config.norm_epsilon = 1e-5;
  config.activation = kernels::Activation::silu;
  config.gated = true;
  config.positions = Positions::halves;
  config.max_positions = 77;
  config.tying = Tying::none;
  config.biases = false;
  config.output_bias = true;
  config.similarity = kernels::Similarity::gaussian;
  config.bandwidth = 0.1;
  const Config back = config_from_json(nlohmann::json::parse(to_json(config).dump()));
  EXPECT_EQ(back.source_vocabulary, 12345);
  EXPECT_EQ(back.target_vocabulary, 54321);
  EXPECT_EQ(back.attention_dropout, 0.123456789012345);
  EXPECT_EQ(back.smoothing_form, kernels::SmoothingForm::fairseq);
  EXPECT_EQ(back.similarity, kernels::Similarity::gaussian);
  EXPECT_EQ(back.positions, Positions::halves);
  EXPECT_FALSE(back.biases);
  EXPECT_TRUE(back.output_bias);
  EXPECT_EQ(to_json(back), to_json(config));
}

TEST(Json, WrongFieldsAreBadModels) {
  const nlohmann::json good = to_json(with_vocabulary(preset("tiny"), 100));
  const auto message = [&](const char* field, const nlohmann::json& value) {
    nlohmann::json json = good;
    json[field] = value;
    return message_of(base::ErrorKind::bad_model, [&] { config_from_json(json); });
  };
  EXPECT_THAT(message("colour", "red"), HasSubstr("unknown field 'colour'"));
  EXPECT_THAT(message("positions", "spiral"), HasSubstr("'spiral' is not one of: interleaved"));
  EXPECT_THAT(message("positions", 3), HasSubstr("positions"));
  EXPECT_THAT(message("heads", 0), HasSubstr("heads"));
  // Numbers that a conversion would change without a word.
  EXPECT_THAT(message("d-model", 128.5), HasSubstr("d-model"));
  EXPECT_THAT(message("d-model", 1e300), HasSubstr("d-model"));
  EXPECT_THAT(message("d-model", "128"), HasSubstr("d-model"));
  EXPECT_THAT(message("d-model", true), HasSubstr("d-model"));
  EXPECT_THAT(message("d-model", 18446744073709551615u), HasSubstr("d-model"));
  EXPECT_THAT(message("dropout", nullptr), HasSubstr("dropout"));
  EXPECT_THAT(message("gated", 1), HasSubstr("gated"));
  for (const auto& [field, value] : good.items()) {
    nlohmann::json json = good;
    json.erase(field);
    EXPECT_THAT(message_of(base::ErrorKind::bad_model, [&] { config_from_json(json); }), HasSubstr(field));
  }
  for (const nlohmann::json& json : {nlohmann::json(), nlohmann::json::array(), nlohmann::json(3)}) {
    message_of(base::ErrorKind::bad_model, [&] { config_from_json(json); });
  }
}

}  // namespace
}  // namespace zhuyi::nn
