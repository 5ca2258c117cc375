#include "train/checkpoint.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "kernels/vector.h"

namespace zhuyi::train {

using base::check_kind;
using base::ErrorKind;
using nlohmann::json;

namespace {

constexpr const char* kProgress = "progress";
constexpr const char* kOptimizerSteps = "optimizer.steps";

json to_json(const Progress& p) {
  return {{"step", p.step},
          {"epoch", p.epoch},
          {"part", p.part},
          {"batch", p.batch},
          {"target_tokens", p.target_tokens},
          {"seconds", p.seconds},
          {"validated_seconds", p.validated_seconds},
          {"validated_step", p.validated_step},
          {"averaged_step", p.averaged_step},
          {"window", {p.window.loss, p.window.nll, p.window.target_tokens, p.window.seconds}},
          {"best_nll", p.best_nll},
          {"best_bleu", p.best_bleu},
          {"best_chrf", p.best_chrf},
          {"stalled", p.stalled},
          {"metrics_bytes", p.metrics_bytes},
          {"skipped", p.skipped},
          {"skipped_in_row", p.skipped_in_row},
          {"snapshots", p.snapshots},
          {"surplus", p.surplus},
          {"pass_bytes", p.pass_bytes},
          {"data", p.data},
          {"options", p.options}};
}

Progress progress_from(const json& in) {
  Progress p;
  in.at("step").get_to(p.step);
  in.at("epoch").get_to(p.epoch);
  in.at("part").get_to(p.part);
  in.at("batch").get_to(p.batch);
  in.at("target_tokens").get_to(p.target_tokens);
  in.at("seconds").get_to(p.seconds);
  in.at("validated_seconds").get_to(p.validated_seconds);
  in.at("validated_step").get_to(p.validated_step);
  in.at("averaged_step").get_to(p.averaged_step);
  const json& window = in.at("window");
  p.window = {window.at(0), window.at(1), window.at(2), window.at(3)};
  in.at("best_nll").get_to(p.best_nll);
  in.at("best_bleu").get_to(p.best_bleu);
  in.at("best_chrf").get_to(p.best_chrf);
  in.at("stalled").get_to(p.stalled);
  in.at("metrics_bytes").get_to(p.metrics_bytes);
  in.at("skipped").get_to(p.skipped);
  in.at("skipped_in_row").get_to(p.skipped_in_row);
  in.at("snapshots").get_to(p.snapshots);
  in.at("surplus").get_to(p.surplus);
  p.pass_bytes = in.value("pass_bytes", p.pass_bytes);  // older checkpoints have none
  in.at("data").get_to(p.data);
  in.at("options").get_to(p.options);
  return p;
}

// Every f32 block of the file that is no parameter of the model.
std::map<std::string, tensor::Tensor> optimizer_state(const formats::SafeTensorsFile& file,
                                                      const formats::Model& model) {
  std::set<std::string> parameters;
  for (const autograd::ParameterPtr& parameter : model.transformer->parameters().list()) {
    parameters.insert(parameter->name);
  }
  std::map<std::string, tensor::Tensor> state;
  for (const auto& [name, block] : file.tensors()) {
    if (block.type != "F32" || parameters.contains(name)) continue;
    const tensor::Tensor values = file.tensor(name);
    check_kind(std::isfinite(kernels::sum_of_squares<float>(values.data<float>())), ErrorKind::bad_model,
               "{}, a moment of the optimiser, is no number", name);
    state.emplace(name, values);
  }
  return state;
}

// "8000 pieces, now 4000", or the first piece that is another.
std::string difference(const text::Tokenizer& before, const text::Tokenizer& now) {
  if (before.size() != now.size()) return fmt::format("{} pieces, now {}", before.size(), now.size());
  for (std::int32_t id = 0; id < before.size(); ++id) {
    if (before.piece(id) != now.piece(id)) {
      return fmt::format("piece {} was '{}', now '{}'", id, before.piece(id), now.piece(id));
    }
  }
  return "the same pieces, scored differently";
}

void check_same_tokenizer(const char* side, const text::Tokenizer& before, const text::Tokenizer& now) {
  check_kind(before.serialized() == now.serialized(), ErrorKind::bad_model,
             "it was made with another tokenizer of the {} ({}); give the same one, or another directory", side,
             difference(before, now));
}

void find_differences(const std::string& name, const json& before, const json& now, std::vector<std::string>& found) {
  if (before == now) return;
  const auto named = [&](const std::string& key) { return name.empty() ? key : name + " " + key; };
  if (before.is_object() && now.is_object()) {
    for (const auto& [key, value] : now.items()) find_differences(named(key), before.value(key, json()), value, found);
    for (const auto& [key, value] : before.items()) {
      if (!now.contains(key)) find_differences(named(key), value, json(), found);
    }
    return;
  }
  if (before.is_array() && now.is_array() && before.size() == now.size()) {
    std::size_t part = 0;
    while (before[part] == now[part]) ++part;
    found.push_back(fmt::format("{} part {} of {}", name, part + 1, before.size()));
    return;
  }
  found.push_back(fmt::format("{} {}, now {}", name, before.dump(), now.dump()));
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const formats::Model& model, const optim::Optimizer& optimizer,
                     const Progress& progress, const std::filesystem::path& keep_as) {
  formats::SafeTensorsWriter writer;
  formats::add_model(writer, model);
  for (const optim::ConstStateBlock& block : optimizer.state()) writer.add(block.name, *block.values);
  writer.metadata[kProgress] = to_text(progress);
  writer.metadata[kOptimizerSteps] = std::to_string(optimizer.steps());
  writer.write(path, keep_as);
}

Checkpoint read_checkpoint(const std::filesystem::path& path) {
  const formats::SafeTensorsFile file(path);
  file.verify();
  formats::Model model = formats::read_model(file, path.string());
  return base::within(path.string(), [&] {
    check_kind(file.metadata().contains(kProgress) && file.metadata().contains(kOptimizerSteps), ErrorKind::bad_model,
               "a model, but no checkpoint of a run");
    std::map<std::string, tensor::Tensor> state = optimizer_state(file, model);
    return Checkpoint{std::move(model), std::move(state), std::stoll(file.metadata().at(kOptimizerSteps)),
                      progress_from_text(file.metadata().at(kProgress))};
  });
}

void restore(const Checkpoint& checkpoint, formats::Model& model, optim::Optimizer& optimizer) {
  const json before = nn::to_json(checkpoint.model.transformer->config());
  const json now = nn::to_json(model.transformer->config());
  check_kind(before == now, ErrorKind::bad_model,
             "it was made with another model configuration ({}); give the same one, or another directory",
             differences(before.dump(), now.dump()));
  check_same_tokenizer("source", checkpoint.model.source, model.source);
  check_same_tokenizer("target", checkpoint.model.target, model.target);
  for (const optim::StateBlock& block : optimizer.state()) {
    const auto found = checkpoint.state.find(block.name);
    check_kind(found != checkpoint.state.end() && found->second.shape() == block.values->shape(), ErrorKind::bad_model,
               "it has no {} of {}: it was made with another optimizer; give the same one, or another directory",
               block.name, block.values->shape());
    block.values->assign(found->second);
  }
  optimizer.set_steps(checkpoint.optimizer_steps);
  model.transformer->parameters().flat().assign(checkpoint.model.transformer->parameters().flat());
  model.provenance = checkpoint.model.provenance;
}

Progress load_checkpoint(const std::filesystem::path& path, formats::Model& model, optim::Optimizer& optimizer) {
  const Checkpoint checkpoint = read_checkpoint(path);
  base::within(path.string(), [&] { restore(checkpoint, model, optimizer); });
  return checkpoint.progress;
}

std::string to_text(const Progress& progress) { return to_json(progress).dump(); }

Progress progress_from_text(const std::string& text) {
  try {
    return progress_from(json::parse(text));
  } catch (const json::exception& error) {
    base::fail(ErrorKind::bad_model, "its progress is damaged: {}", error.what());
  }
}

std::string differences(const std::string& before, const std::string& now) {
  std::vector<std::string> found;
  find_differences("", json::parse(before, nullptr, false), json::parse(now), found);
  return fmt::format("{}", fmt::join(found, "; "));
}

}  // namespace zhuyi::train
