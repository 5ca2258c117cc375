// zhuyi inspect: what a model is made of: configuration, parameters by part, vocabularies, where it came from.

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "formats/model_file.h"
#include "kernels/precision.h"

namespace zhuyi::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model;
  std::string preset;
  std::int64_t vocabulary = 8000;
  bool json = false;
};

// "encoder.3" for the parameters of a layer, "embedding" and the like for the others.
std::string part_of(const std::string& parameter) {
  for (const std::string_view stack : {"encoder.", "decoder."}) {
    if (!parameter.starts_with(stack)) continue;
    const std::string part = parameter.substr(0, parameter.find('.', stack.size()));
    return part;
  }
  return parameter;
}

// The parts in the model's order, with the number of their parameters. "encoder" and "decoder" hold their layers.
Json parts_of(const autograd::Parameters& parameters) {
  Json parts = Json::object();
  for (const autograd::ConstParameterPtr& parameter : parameters.list()) {
    const std::int64_t count = parameter->rows * parameter->columns;
    const std::string part = part_of(parameter->name);
    const std::size_t point = part.find('.');
    if (point == std::string::npos) {
      parts[part] = count;
      continue;
    }
    Json& stack = parts[part.substr(0, point)];
    if (stack.is_null()) stack = {{"total", 0}, {"layers", Json::object()}};
    stack["total"] = stack["total"].get<std::int64_t>() + count;
    Json& layer = stack["layers"][part.substr(point + 1)];
    layer = (layer.is_null() ? std::int64_t{0} : layer.get<std::int64_t>()) + count;
  }
  return parts;
}

Json vocabulary_of(const text::Tokenizer& tokenizer) {
  return {{"pieces", tokenizer.size()},
          {"unk", tokenizer.unk()},
          {"bos", tokenizer.bos()},
          {"eos", tokenizer.eos()},
          {"pad", tokenizer.pad()},
          {"byte_fallback", tokenizer.byte_fallback()},
          {"bytes", tokenizer.serialized().size()}};
}

Json description_of(const nn::Transformer& transformer) {
  Json object;
  object["precision"] = transformer.stored_as();
  object["parameters"] = transformer.parameters().count();
  object["parameter_bytes"] = transformer.parameters().count() * tensor::bytes_of(tensor::DType::f32);
  object["parts"] = parts_of(transformer.parameters());
  Json configuration = Json::object();
  const Json values = nn::to_json(transformer.config());
  nn::for_each_field(transformer.config(), [&](const char* name, const char*, const auto&) {
    if (values.contains(name)) configuration[name] = values[name];
  });
  object["configuration"] = configuration.empty() ? values : configuration;
  return object;
}

Json describe_model(const std::string& path) {
  const formats::Model model = formats::load_model(path);
  Json object = {{"model", path}, {"file_bytes", std::filesystem::file_size(path)}};
  object.update(description_of(*model.transformer));
  if (model.source.serialized() == model.target.serialized()) {
    object["vocabulary"] = vocabulary_of(model.source);
  } else {
    object["source_vocabulary"] = vocabulary_of(model.source);
    object["target_vocabulary"] = vocabulary_of(model.target);
  }
  object["start_token"] = model.transformer->bos();
  if (!model.source_scripts.empty()) object["source_scripts"] = model.source_scripts;
  object["provenance"] = model.provenance;
  return object;
}

Json describe_preset(const Options& options) {
  nn::Config config = nn::preset(options.preset);
  config.source_vocabulary = config.target_vocabulary = options.vocabulary;
  Json object = {{"preset", options.preset}};
  object.update(description_of(nn::Transformer(config, 1, 0)));
  return object;
}

// 1234567 as "1,234,567".
std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto point = static_cast<std::int64_t>(digits.size()) - 3; point > 0; point -= 3) {
    digits.insert(static_cast<std::size_t>(point), 1, ',');
  }
  return digits;
}

void print_parts(const Json& parts) {
  for (const auto& [name, part] : parts.items()) {
    if (part.is_number()) {
      std::cout << fmt::format("  {:<26}{:>15}\n", name, grouped(part.get<std::int64_t>()));
      continue;
    }
    std::cout << fmt::format("  {:<26}{:>15}\n", name, grouped(part["total"].get<std::int64_t>()));
    for (const auto& [layer, count] : part["layers"].items()) {
      std::cout << fmt::format("    {:<24}{:>15}\n", layer == "norm" ? "final norm" : "layer " + layer,
                               grouped(count.get<std::int64_t>()));
    }
  }
}

std::string plain(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void print(const Json& object) {
  if (object.contains("model")) {
    std::cout << fmt::format("{}: {} bytes\n", plain(object["model"]),
                             grouped(object["file_bytes"].get<std::int64_t>()));
  } else {
    std::cout << fmt::format("preset {}\n", plain(object["preset"]));
  }
  std::cout << fmt::format("\nparameters                  {:>15}  ({} bytes in f32)\n",
                           grouped(object["parameters"].get<std::int64_t>()),
                           grouped(object["parameter_bytes"].get<std::int64_t>()));
  if (object["precision"] != "f32") {
    std::cout << fmt::format("quantised: weights are stored in {}\n", plain(object["precision"]));
  }
  if (object.contains("source_scripts")) {
    std::cout << fmt::format("reads the scripts {}\n",
                             fmt::join(object["source_scripts"].get<std::vector<std::string>>(), ", "));
  }
  print_parts(object["parts"]);
  std::cout << "\nconfiguration\n";
  for (const auto& [name, value] : object["configuration"].items()) {
    std::cout << fmt::format("  {:<26}{}\n", name, plain(value));
  }
  for (const char* name : {"vocabulary", "source_vocabulary", "target_vocabulary", "provenance"}) {
    if (!object.contains(name) || object[name].empty()) continue;
    std::cout << "\n" << (std::string(name) == "provenance" ? "where it came from" : name) << "\n";
    for (const auto& [key, value] : object[name].items()) std::cout << fmt::format("  {:<26}{}\n", key, plain(value));
  }
}

void run(const Options& options) {
  base::check(options.model.empty() != options.preset.empty(),
              "inspect: name either a model file or --preset NAME ({})",
              options.model.empty() ? "neither is given" : "both are given");
  const Json object = options.preset.empty() ? describe_model(options.model) : describe_preset(options);
  if (options.json) {
    std::cout << object.dump() << "\n";
  } else {
    print(object);
  }
}

}  // namespace

Action inspect_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the model")->option_text("MODEL");
  app.add_option("--preset", options->preset, "named configuration to describe instead of a model")
      ->option_text("NAME");
  app.add_option("--vocabulary", options->vocabulary, "pieces of that configuration, one vocabulary for both sides")
      ->check(CLI::Range(4, 1 << 24))
      ->option_text(fmt::format("N [{}]", options->vocabulary));
  app.add_flag("--json", options->json, "one JSON object");
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
