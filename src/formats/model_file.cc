#include "formats/model_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"

namespace zhuyi::formats {
namespace {

using base::check_kind;
using base::ErrorKind;
using tensor::Tensor;

constexpr const char* kFormat = "zhuyi-1";
constexpr const char* kProvenance = "provenance.";
constexpr const char* kPrecision = "precision";  // how weights are kept (ops/storage.h); none: f32
constexpr const char* kSourceScripts = "source-scripts";
const std::string& metadata(const SafeTensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  check_kind(found != file.metadata().end(), ErrorKind::bad_model, "no '{}' in its metadata: not a Zhuyi model", key);
  return found->second;
}

// The arrays of weights that are not plain, in the file's map.
class MappedArrays final : public ops::ArraySource {
 public:
  explicit MappedArrays(const SafeTensorsFile& file) : file_(file) {}
  std::span<const std::int8_t> bytes(const std::string& name) const override { return file_.mapped_bytes(name); }
  std::span<const std::int32_t> integers(const std::string& name) const override { return file_.mapped_integers(name); }
  std::span<const float> numbers(const std::string& name) const override { return file_.mapped_numbers(name); }
  std::shared_ptr<const void> owner() const override { return file_.map(); }

 private:
  const SafeTensorsFile& file_;
};

void add_array(SafeTensorsWriter& writer, const std::string& name, const ops::StoredArray& array) {
  if (const auto* bytes = std::get_if<std::span<const std::int8_t>>(&array.numbers))
    return writer.add_int8(name, *bytes);
  if (const auto* integers = std::get_if<std::span<const std::int32_t>>(&array.numbers))
    return writer.add_integers(name, *integers);
  const Tensor& numbers = std::get<Tensor>(array.numbers);
  array.in_bf16 ? writer.add_bf16(name, numbers) : writer.add(name, numbers);
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

void read_parameter(const SafeTensorsFile& file, autograd::Parameter& parameter) {
  const Tensor value = file.tensor(parameter.name);
  check_kind(
      value.dtype() == tensor::DType::f32 && value.rows() == parameter.rows && value.columns() == parameter.columns,
      ErrorKind::bad_model, "{} is {}, the configuration asks for f32[{}, {}]", parameter.name, value.shape(),
      parameter.rows, parameter.columns);
  const std::span<const float> numbers = value.data<float>();
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
  if (transformer.stored_as() != "f32") writer.metadata[kPrecision] = transformer.stored_as();
  std::map<std::string, nn::WeightPtr> weights;
  for (const nn::WeightPtr& weight : transformer.weights()) weights.emplace(weight->name(), weight);
  for (const autograd::ConstParameterPtr& parameter : transformer.parameters().list()) {
    const auto weight = weights.find(parameter->name);
    if (weight == weights.end()) {
      writer.add(parameter->name, parameter->value);
      continue;
    }
    for (const ops::StoredArray& array : weight->second->arrays()) {
      add_array(writer, parameter->name + array.suffix, array);
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
    const auto precision = file.metadata().find(kPrecision);
    const std::string stored_as = precision == file.metadata().end() ? "f32" : precision->second;
    const MappedArrays arrays(file);
    const auto storage = [&](const ops::Weight& weight) {
      return ops::read_storage(stored_as, weight.declared(), arrays);
    };
    Model model{std::make_unique<nn::Transformer>(config, bos, storage), std::move(source), std::move(target), {}};
    for (const autograd::ParameterPtr& parameter : model.transformer->parameters().list()) {
      if (parameter->in_block) read_parameter(file, *parameter);
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
