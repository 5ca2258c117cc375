#include "formats/model_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "kernels/precision.h"

namespace zhuyi::formats {
namespace {

using base::check_kind;
using base::ErrorKind;
using tensor::Tensor;

constexpr const char* kFormat = "zhuyi-1";
constexpr const char* kProvenance = "provenance.";
constexpr const char* kSourceScripts = "source-scripts";
// Behind the name of a parameter in 8 bits: its panels, the scales of its columns and their sums (kernels/gemm_int8.h).
constexpr const char* kPanels = ".int8";
constexpr const char* kScales = ".scales";
constexpr const char* kSums = ".sums";

const std::string& metadata(const SafeTensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  check_kind(found != file.metadata().end(), ErrorKind::bad_model, "no '{}' in its metadata: not a Zhuyi model", key);
  return found->second;
}

kernels::Precision precision_of(const SafeTensorsFile& file) {
  const auto found = file.metadata().find("precision");
  if (found == file.metadata().end()) return kernels::Precision::f32;
  const auto& names = kernels::kPrecisionNames;
  check_kind(std::find(names.begin(), names.end(), found->second) != names.end(), ErrorKind::bad_model,
             "its precision is '{}', expected {}", found->second, fmt::join(names, ", "));
  return kernels::precision_of(found->second);
}

// None in a model that was trained before they were noted.
std::vector<std::string> source_scripts(const SafeTensorsFile& file) {
  const auto found = file.metadata().find(kSourceScripts);
  std::vector<std::string> scripts;
  if (found == file.metadata().end()) return scripts;
  std::istringstream codes(found->second);
  for (std::string code; codes >> code;) scripts.push_back(code);
  return scripts;
}

void read_parameter(const SafeTensorsFile& file, const autograd::Parameter& parameter) {
  const Tensor value = file.tensor(parameter.name);
  check_kind(
      value.dtype() == tensor::DType::f32 && value.rows() == parameter.rows && value.columns() == parameter.columns,
      ErrorKind::bad_model, "{} is {}, the configuration asks for f32[{}, {}]", parameter.name, value.shape(),
      parameter.rows, parameter.columns);
  const std::span<float> numbers = value.data<float>();
  check_kind(std::all_of(numbers.begin(), numbers.end(), [](float v) { return std::isfinite(v); }),
             ErrorKind::bad_model, "{} holds a number that is not finite", parameter.name);
  parameter.value.assign(value);
}

}  // namespace

void add_model(SafeTensorsWriter& writer, const Model& model) {
  const nn::Transformer& transformer = *model.transformer;
  writer.metadata["format"] = kFormat;
  writer.metadata["config"] = nn::to_json(transformer.config()).dump();
  writer.metadata["bos"] = std::to_string(transformer.bos());
  for (const auto& [key, value] : model.provenance) writer.metadata[kProvenance + key] = value;
  if (!model.source_scripts.empty()) {
    writer.metadata[kSourceScripts] = fmt::format("{}", fmt::join(model.source_scripts, " "));
  }
  const kernels::Precision precision = transformer.precision();
  if (precision != kernels::Precision::f32) {
    writer.metadata["precision"] = kernels::name_of(precision);
  }
  for (const autograd::ParameterPtr& parameter : transformer.parameters().list()) {
    if (parameter->int8) {
      writer.add_int8(parameter->name + kPanels, parameter->int8->panels());
      writer.add_integers(parameter->name + kSums, parameter->int8->column_sums());
      const std::span<const float> scales = parameter->int8->scales();
      writer.add(parameter->name + kScales, Tensor::of(1, std::ssize(scales), {scales.begin(), scales.end()}));
    } else if (precision == kernels::Precision::bf16 && parameter->rows > 1) {
      writer.add_bf16(parameter->name, parameter->value);
    } else {
      writer.add(parameter->name, parameter->value);
    }
  }
  writer.add_bytes("tokenizer.source", model.source.serialized());
  if (model.target.serialized() != model.source.serialized()) {
    writer.add_bytes("tokenizer.target", model.target.serialized());
  }
}

void save_model(const std::filesystem::path& path, const Model& model) {
  SafeTensorsWriter writer;
  add_model(writer, model);
  writer.write(path);
}

Model read_model(const SafeTensorsFile& file, const std::string& name) {
  return base::within(name, [&] {
    check_kind(metadata(file, "format") == kFormat, ErrorKind::bad_model, "its format is '{}', this program reads '{}'",
               metadata(file, "format"), kFormat);
    const auto json = nlohmann::json::parse(metadata(file, "config"), nullptr, false);
    const nn::Config config = nn::config_from_json(json);
    text::Tokenizer source(file.bytes("tokenizer.source"));
    text::Tokenizer target =
        file.contains("tokenizer.target") ? text::Tokenizer(file.bytes("tokenizer.target")) : source;
    check_kind(source.size() == config.source_vocabulary && target.size() == config.target_vocabulary,
               ErrorKind::bad_model, "tokenizers of {} and {} pieces, the configuration asks for {} and {}",
               source.size(), target.size(), config.source_vocabulary, config.target_vocabulary);
    check_kind(source.eos() >= 0 && target.eos() >= 0, ErrorKind::bad_model,
               "a tokenizer without an end-of-sentence piece");
    // Sizes are checked against the file before a model of the configuration's size is made.
    std::int64_t numbers = 0;
    for (const auto& [tensor_name, tensor] : file.tensors()) {
      std::int64_t count = 1;
      for (const std::int64_t size : tensor.sizes) count *= size;
      numbers += count;
    }
    const std::int64_t wanted = nn::Transformer::parameter_count(config);
    check_kind(wanted <= numbers, ErrorKind::bad_model, "{} numbers in the file, the configuration asks for {}",
               numbers, wanted);
    const std::string& start = metadata(file, "bos");
    std::int32_t bos = -1;
    const auto [rest, code] = std::from_chars(start.data(), start.data() + start.size(), bos);
    if (code != std::errc() || rest != start.data() + start.size()) bos = -1;
    check_kind(bos >= 0 && bos < config.target_vocabulary, ErrorKind::bad_model, "its start token is '{}'", start);
    const auto in_8_bits = [&](const ops::Weight& weight) {
      const std::string& parameter = weight.parameter->name;
      const std::span<const float> scales = file.mapped_numbers(parameter + kScales);
      check_kind(std::all_of(scales.begin(), scales.end(), [](float v) { return std::isfinite(v) && v >= 0; }),
                 ErrorKind::bad_model, "{} has a scale that is not finite", parameter);
      return std::make_shared<const kernels::Int8Matrix>(weight.inputs(), weight.outputs(),
                                                         file.mapped_bytes(parameter + kPanels), scales,
                                                         file.mapped_integers(parameter + kSums), file.map());
    };
    Model model{std::make_unique<nn::Transformer>(config, bos, precision_of(file), in_8_bits),
                std::move(source),
                std::move(target),
                {}};
    for (const autograd::ParameterPtr& parameter : model.transformer->parameters().list()) {
      if (!parameter->int8) read_parameter(file, *parameter);
    }
    const std::string prefix = kProvenance;
    for (const auto& [key, value] : file.metadata()) {
      if (key.starts_with(prefix)) model.provenance[key.substr(prefix.size())] = value;
    }
    model.source_scripts = source_scripts(file);
    return model;
  });
}

Model load_model(const std::filesystem::path& path) { return read_model(SafeTensorsFile(path), path.string()); }

}  // namespace zhuyi::formats
