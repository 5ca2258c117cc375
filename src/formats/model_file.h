#pragma once
// A model is one file: weights, configuration and tokenizers, with where it came from.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "formats/safetensors.h"
#include "nn/transformer.h"
#include "text/tokenizer.h"

namespace zhuyi::formats {

// What a translator needs. The target tokenizer is the source's own when they are joint.
struct Model {
  std::unique_ptr<nn::Transformer> transformer;
  text::Tokenizer source;
  text::Tokenizer target;
  std::map<std::string, std::string> provenance;  // "trained-steps", "bleu", ...: free text by name, shown by inspect
};

// Puts a model into a writer: tensors under the parameters' names, tokenizers as bytes, configuration as JSON metadata.
void add_model(SafeTensorsWriter& writer, const nn::Transformer& transformer, const text::Tokenizer& source,
               const text::Tokenizer& target, const std::map<std::string, std::string>& provenance);

// Writes a model file in one step. Throws system.
void save_model(const std::filesystem::path& path, const Model& model);

// Reads a model file. Throws not_found, system, or bad_model naming what is missing, of the wrong size or not finite.
Model load_model(const std::filesystem::path& path);

// Reads what add_model wrote into a file that may hold more (a checkpoint).
Model read_model(const SafeTensorsFile& file, const std::string& name);

}  // namespace zhuyi::formats
