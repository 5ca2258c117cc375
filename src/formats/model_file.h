#pragma once
// A model is one file: weights, configuration and tokenizers, with where it came from.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

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
  std::vector<std::string> source_scripts = {};   // that the sources of its training text are written in
                                                  //   (text/scripts.h); empty: not known
};

// Puts a model into a writer: tensors under the parameters' names, tokenizers as bytes, configuration as JSON metadata.
void add_model(SafeTensorsWriter& writer, const Model& model);

// Writes a model file in one step. Throws system.
void save_model(const std::filesystem::path& path, const Model& model);

// Reads a model file. Throws not_found, system, or bad_model naming what is missing, of the wrong size or not finite.
Model load_model(const std::filesystem::path& path);

// Reads what add_model wrote into a file that may hold more (a checkpoint).
Model read_model(const SafeTensorsFile& file, const std::string& name);

}  // namespace zhuyi::formats
