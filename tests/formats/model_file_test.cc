// Model files: what is saved comes back bit for bit, and damaged or hostile files give errors.

#include "formats/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "temporary_folder.h"

namespace zhuyi::formats {
namespace {

using nlohmann::json;
using tensor::Tensor;
using testing::HasSubstr;

text::Tokenizer tokenizer_of(std::int64_t pieces, const std::string& words) {
  std::vector<std::string> sentences;
  base::Random random(1);
  for (int i = 0; i < 60; ++i) {
    std::string sentence;
    for (int j = 0; j < 6; ++j) {
      for (int k = 0; k < 3; ++k)
        sentence += words[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(words.size())))];
      sentence += ' ';
    }
    sentences.push_back(sentence + "end");
  }
  text::TokenizerTraining training;
  training.size = pieces;
  training.byte_fallback = false;
  return text::Tokenizer(text::train_tokenizer(sentences, training));
}

Model small_model(bool joint) {
  text::Tokenizer source = tokenizer_of(40, "abcdefgh");
  text::Tokenizer target = joint ? source : tokenizer_of(44, "stuvwxyz");
  nn::Config config;
  config.source_vocabulary = source.size();
  config.target_vocabulary = target.size();
  config.tying = joint ? nn::Tying::all : nn::Tying::none;
  config.d_model = 8;
  config.d_ff = 12;
  config.heads = 2;
  config.encoder_layers = config.decoder_layers = 1;
  auto transformer = std::make_unique<nn::Transformer>(config, target.bos(), 3);
  return {std::move(transformer), source, target, {{"trained-steps", "100"}, {"note", "两种语言"}}, {"Hani", "Latn"}};
}

std::string bytes_of(const Tensor& tensor) {
  const std::span<const float> numbers = tensor.data<float>();
  return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

class ModelFile : public testing::TestWithParam<bool> {
 protected:
  ModelFile() { save_model(path_, model_); }

  // Loads bytes written to a file; gives the message of the error, which must be bad_model, or "" for a model.
  std::string load(const std::string& bytes) {
    base::write_file(folder_ / "other", bytes);
    try {
      load_model(folder_ / "other");
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::bad_model) << error.message();
      return error.message();
    }
    return "";
  }

  // The saved file with its metadata changed.
  template <class Change>
  std::string with_metadata(const Change& change) {
    const std::string bytes = base::read_file(path_);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    json header = json::parse(bytes.substr(8, length));
    change(header["__metadata__"]);
    const std::string text = header.dump();
    const std::uint64_t changed = text.size();
    return std::string(reinterpret_cast<const char*>(&changed), 8) + text + bytes.substr(8 + length);
  }

  std::string with_config(const std::string& field, const json& value) {
    return with_metadata([&](json& metadata) {
      json config = json::parse(metadata["config"].get<std::string>());
      config[field] = value;
      metadata["config"] = config.dump();
    });
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "model.safetensors";
  Model model_ = small_model(GetParam());
};

TEST_P(ModelFile, ComesBackBitForBit) {
  const Model loaded = load_model(path_);
  EXPECT_EQ(nn::to_json(loaded.transformer->config()), nn::to_json(model_.transformer->config()));
  EXPECT_EQ(loaded.transformer->bos(), model_.transformer->bos());
  EXPECT_EQ(loaded.source.serialized(), model_.source.serialized());
  EXPECT_EQ(loaded.target.serialized(), model_.target.serialized());
  EXPECT_EQ(loaded.provenance, model_.provenance);
  EXPECT_EQ(loaded.source_scripts, (std::vector<std::string>{"Hani", "Latn"}));
  EXPECT_TRUE(bytes_of(loaded.transformer->parameters().flat()) == bytes_of(model_.transformer->parameters().flat()));
  // And again: the file of a loaded model is the file.
  save_model(folder_ / "again", loaded);
  EXPECT_TRUE(base::read_file(folder_ / "again") == base::read_file(path_));
  // A joint tokenizer is stored once.
  EXPECT_EQ(SafeTensorsFile(path_).contains("tokenizer.target"), !GetParam());
}

TEST_P(ModelFile, CutShort) {
  const std::string bytes = base::read_file(path_);
  for (std::size_t length = 0; length < bytes.size(); length += 97)
    EXPECT_NE(load(bytes.substr(0, length)), "") << length;
  EXPECT_NE(load(bytes.substr(0, bytes.size() - 1)), "");
  EXPECT_NE(load(std::string(bytes.size(), '\0')), "");
}

TEST_P(ModelFile, FlippedBytesGiveAnErrorOrAModel) {
  const std::string good = base::read_file(path_);
  std::uint64_t length = 0;
  std::memcpy(&length, good.data(), 8);
  base::Random random(7);
  int errors = 0;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = good;
    const auto offset = static_cast<std::size_t>(random.below(8 + static_cast<std::int64_t>(length)));
    bytes[offset] = static_cast<char>(random.bits());
    errors += load(bytes).empty() ? 0 : 1;
  }
  EXPECT_GT(errors, 100);
  // Anywhere, tokenizers and weights included.
  for (int i = 0; i < 100; ++i) {
    std::string bytes = good;
    const auto offset = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(good.size())));
    bytes[offset] = static_cast<char>(random.bits());
    load(bytes);
  }
}

TEST_P(ModelFile, NumbersThatAreNotFinite) {
  for (const float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    const Model model = small_model(GetParam());
    model.transformer->parameters().find("encoder.0.feed_forward.input.weight")->value.data<float>()[5] = bad;
    save_model(folder_ / "bad", model);
    EXPECT_THAT(load(base::read_file(folder_ / "bad")),
                HasSubstr("encoder.0.feed_forward.input.weight holds a number that is not finite"));
  }
}

TEST_P(ModelFile, ConfigurationsThatAreNotOfThisFile) {
  EXPECT_EQ(load(with_config("dropout", 0.2)), "");  // a change that is none for the weights
  EXPECT_NE(load(with_config("d-model", 16)), "");
  EXPECT_NE(load(with_config("d-ff", 1 << 18)), "");
  EXPECT_NE(load(with_config("d-ff", 11)), "");
  EXPECT_NE(load(with_config("heads", 3)), "");
  EXPECT_NE(load(with_config("encoder-layers", 2)), "");
  EXPECT_NE(load(with_config("decoder-layers", 1024)), "");
  EXPECT_NE(load(with_config("gated", true)), "");
  EXPECT_NE(load(with_config("positions", "learned")), "");
  EXPECT_NE(load(with_config("norm", "spectral")), "");
  EXPECT_THAT(load(with_config("source-vocabulary", 1 << 24)), HasSubstr("16777216"));
  EXPECT_NE(load(with_config("target-vocabulary", 41)), "");
  EXPECT_THAT(load(with_config("colour", "red")), HasSubstr("colour"));
  // A configuration of a giant must be refused before room for it is asked for.
  EXPECT_NE(load(with_metadata([](json& metadata) {
              json config = json::parse(metadata["config"].get<std::string>());
              config["positions"] = "learned";
              config["max-positions"] = 1 << 20;
              metadata["config"] = config.dump();
            })),
            "");
  EXPECT_EQ(load(with_config("max-positions", 1 << 20)), "");  // sinusoids need no room
}

TEST_P(ModelFile, MetadataThatCannotBe) {
  for (const char* key : {"format", "config", "bos"}) {
    EXPECT_THAT(load(with_metadata([&](json& metadata) { metadata.erase(key); })), HasSubstr(key));
    EXPECT_NE(load(with_metadata([&](json& metadata) { metadata[key] = ""; })), "") << key;
    EXPECT_NE(load(with_metadata([&](json& metadata) { metadata[key] = "-1"; })), "") << key;
    EXPECT_NE(load(with_metadata([&](json& metadata) { metadata[key] = "[[[["; })), "") << key;
  }
  for (const char* bos : {"1000", "99999999999999", "1x", " 1", "0x1"}) {
    EXPECT_THAT(load(with_metadata([&](json& metadata) { metadata["bos"] = bos; })), HasSubstr("start token")) << bos;
  }
  EXPECT_THAT(load(with_metadata([](json& metadata) { metadata["format"] = "zhuyi-9"; })), HasSubstr("zhuyi-9"));
}

TEST_P(ModelFile, ScriptsMayBeUnknown) {
  base::write_file(folder_ / "older", with_metadata([](json& metadata) {
                     EXPECT_EQ(metadata["source-scripts"], "Hani Latn");
                     metadata.erase("source-scripts");
                   }));
  EXPECT_TRUE(load_model(folder_ / "older").source_scripts.empty());
}

TEST_P(ModelFile, TokenizersThatDoNotFit) {
  const auto saved_with = [&](const text::Tokenizer& source, const text::Tokenizer& target) {
    SafeTensorsWriter writer;
    Model model = small_model(GetParam());
    model.source = source;
    model.target = target;
    add_model(writer, model);
    writer.write(folder_ / "mixed");
    return load(base::read_file(folder_ / "mixed"));
  };
  const text::Tokenizer other = tokenizer_of(37, "abcdefgh");
  EXPECT_THAT(saved_with(other, model_.target), HasSubstr("37"));
  EXPECT_THAT(saved_with(model_.source, other), HasSubstr("37"));
  EXPECT_EQ(saved_with(model_.source, model_.source).empty(), GetParam());
}

TEST_P(ModelFile, AMissingTensorIsNamed) {
  const SafeTensorsFile file(path_);
  for (const char* missing : {"tokenizer.source", "decoder.0.cross_attention.key.bias"}) {
    SafeTensorsWriter writer;
    writer.metadata = file.metadata();
    writer.add("filler", Tensor::zeros(100, 100));
    for (const auto& [name, tensor] : file.tensors()) {
      if (name == missing) continue;
      if (tensor.type == "U8") {
        writer.add_bytes(name, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
      } else {
        writer.add(name, file.tensor(name));
      }
    }
    writer.write(folder_ / "incomplete");
    EXPECT_THAT(load(base::read_file(folder_ / "incomplete")), HasSubstr(missing));
  }
}

TEST_P(ModelFile, OtherSafetensorsAreNoModels) {
  EXPECT_THAT(load(base::read_file(std::string(ZHUYI_GOLDEN_DIR) + "/transformer_post_tied.safetensors")),
              HasSubstr("not a Zhuyi model"));
  EXPECT_THROW(load_model(folder_ / "missing"), base::Error);
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, ModelFile, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "joint" : "apart"); });

}  // namespace
}  // namespace zhuyi::formats
