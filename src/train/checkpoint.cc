#include "train/checkpoint.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kernels/vector.h"

namespace zhuyi::train {

using base::check_kind;
using base::ErrorKind;
using nlohmann::json;

namespace {

constexpr const char* kProgress = "progress";

json to_json(const Progress& p, std::int64_t optimizer_steps) {
  return {{"step", p.step},
          {"epoch", p.epoch},
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
          {"snapshots", p.snapshots},
          {"data", p.data},
          {"options", p.options},
          {"optimizer_steps", optimizer_steps}};
}

Progress progress_from(const json& in) {
  Progress p;
  in.at("step").get_to(p.step);
  in.at("epoch").get_to(p.epoch);
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
  in.at("snapshots").get_to(p.snapshots);
  in.at("data").get_to(p.data);
  in.at("options").get_to(p.options);
  return p;
}

// The blocks of the optimiser's state in the file, checked against those of `optimizer`.
std::vector<tensor::Tensor> optimizer_state(const formats::SafeTensorsFile& file, const optim::Optimizer& optimizer) {
  std::vector<tensor::Tensor> state;
  for (const optim::StateBlock& block : optimizer.state()) {
    check_kind(file.contains(block.name), ErrorKind::bad_model,
               "it has no {}: it was made with another optimizer; give the same one, or another directory", block.name);
    state.push_back(file.tensor(block.name));
    check_kind(state.back().shape() == block.values.shape(), ErrorKind::bad_model, "{} is {}, expected {}", block.name,
               state.back().shape(), block.values.shape());
    check_kind(std::isfinite(kernels::sum_of_squares<float>(state.back().data<float>())), ErrorKind::bad_model,
               "{}, a moment of the optimiser, is no number", block.name);
  }
  return state;
}

}  // namespace

void save_checkpoint(const std::filesystem::path& path, const formats::Model& model, const optim::Optimizer& optimizer,
                     const Progress& progress) {
  formats::SafeTensorsWriter writer;
  formats::add_model(writer, *model.transformer, model.source, model.target, model.provenance);
  for (const optim::StateBlock& block : optimizer.state()) writer.add(block.name, block.values);
  writer.metadata[kProgress] = to_json(progress, optimizer.steps()).dump();
  writer.write(path);
}

Progress load_checkpoint(const std::filesystem::path& path, formats::Model& model, optim::Optimizer& optimizer) {
  const formats::SafeTensorsFile file(path);
  formats::Model saved = formats::read_model(file, path.string());
  return base::within(path.string(), [&] {
    check_kind(
        nn::to_json(saved.transformer->config()) == nn::to_json(model.transformer->config()), ErrorKind::bad_model,
        "it was made with another model configuration ({}); give the same one, or another directory",
        differences(nn::to_json(saved.transformer->config()).dump(), nn::to_json(model.transformer->config()).dump()));
    check_kind(saved.source.serialized() == model.source.serialized() &&
                   saved.target.serialized() == model.target.serialized(),
               ErrorKind::bad_model, "it was made with another tokenizer; give the same one, or another directory");
    const auto found = file.metadata().find(kProgress);
    check_kind(found != file.metadata().end(), ErrorKind::bad_model, "a model, but no checkpoint of a run");
    const std::vector<tensor::Tensor> state = optimizer_state(file, optimizer);
    try {
      const json progress = json::parse(found->second);
      const Progress restored = progress_from(progress);
      optimizer.set_steps(progress.at("optimizer_steps").get<std::int64_t>());
      for (std::size_t i = 0; i < state.size(); ++i) optimizer.state()[i].values.assign(state[i]);
      model.transformer->parameters().flat().assign(saved.transformer->parameters().flat());
      model.provenance = saved.provenance;
      return restored;
    } catch (const json::exception& error) {
      base::fail(ErrorKind::bad_model, "its progress is damaged: {}", error.what());
    }
  });
}

std::string differences(const std::string& before, const std::string& now) {
  const json old_object = json::parse(before, nullptr, false);
  std::vector<std::string> found;
  const json new_object = json::parse(now);
  for (const auto& [key, value] : new_object.items()) {
    const json old_value = old_object.is_object() ? old_object.value(key, json()) : json();
    if (old_value != value) found.push_back(fmt::format("{} {}, now {}", key, old_value.dump(), value.dump()));
  }
  return fmt::format("{}", fmt::join(found, "; "));
}

}  // namespace zhuyi::train
