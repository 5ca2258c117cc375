#pragma once
// Reads the whole-model golden files (scripts/make_golden.py) into a model and a batch of ours.

#include <string>

#include "formats/safetensors.h"
#include "nn/transformer.h"

namespace zhuyi::nn::golden {

using autograd::ParameterPtr;

inline formats::SafeTensorsFile open(const std::string& name) {
  return formats::SafeTensorsFile(std::string(ZHUYI_GOLDEN_DIR) + "/" + name + ".safetensors");
}

// The configuration, from metadata named as its fields.
inline Config config_of(const formats::SafeTensorsFile& file) {
  Config config;
  config.source_vocabulary = config.target_vocabulary = std::stoll(file.metadata().at("vocabulary"));
  config.dropout = 0;
  for_each_field(config, [&](const char* name, const char*, auto& value) {
    using V = std::remove_cvref_t<decltype(value)>;
    const auto found = file.metadata().find(name);
    if (found == file.metadata().end()) return;
    if constexpr (std::is_enum_v<V>) {
      value = value_of<V>(found->second);
    } else if constexpr (std::is_same_v<V, bool>) {
      value = found->second == "true";
    } else if constexpr (std::is_same_v<V, double>) {
      value = std::stod(found->second);
    } else {
      value = std::stoll(found->second);
    }
  });
  return config;
}

// A model with the file's parameters.
inline std::unique_ptr<Transformer> model_of(const formats::SafeTensorsFile& file, tensor::DType dtype) {
  auto model = std::make_unique<Transformer>(config_of(file), 1, 0, dtype);
  for (const ParameterPtr& parameter : model->parameters().list()) {
    const tensor::Tensor value = file.tensor("parameter." + parameter->name).to(dtype);
    parameter->value.assign(value.reshape(parameter->rows, parameter->columns));
  }
  return model;
}

inline Tokens tokens_of(const formats::SafeTensorsFile& file, const std::string& side) {
  Tokens tokens;
  tokens.ids = file.integers(side);
  for (const std::int32_t length : file.integers(side + "_lengths")) tokens.sentences.append(length);
  return tokens;
}

inline Batch batch_of(const formats::SafeTensorsFile& file) {
  return {tokens_of(file, "source"), tokens_of(file, "target")};
}

}  // namespace zhuyi::nn::golden
