// What process 0 does beside the steps of a run: reports, validations, snapshots, checkpoints, the mean of snapshots.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "kernels/vector.h"
#include "optim/moving_average.h"
#include "train/average_models.h"
#include "train/metric.h"
#include "train/training.h"

namespace zhuyi::train {

using base::check_kind;
using base::ErrorKind;
using nlohmann::json;

void Training::report() {
  const Window& window = progress_.window;
  if (window.target_tokens == 0) return;  // all steps of the window were left out
  const auto tokens = static_cast<double>(window.target_tokens);
  last_.loss = window.loss / tokens;
  last_.nll = window.nll / tokens;
  last_.gradient_norm = weights_.gradient_norm();
  last_.tokens_per_second = tokens / window.seconds;
  progress_.window = {};
  const StepReport now = where();
  directory_.append_metrics({{"step", now.step},
                             {"epoch", now.epoch},
                             {"loss", now.loss},
                             {"nll", now.nll},
                             {"learning_rate", now.rate},
                             {"gradient_norm", now.gradient_norm},
                             {"target_tokens", now.target_tokens},
                             {"target_tokens_per_second", now.tokens_per_second},
                             {"seconds", now.seconds}},
                            progress_);
  observer_.stepped(now);
}

// Leaves a state to continue from, and a model to use.
void Training::stop() {
  save();
  const optim::AverageInPlace averaged(weights_.optimizer(), model_.transformer->parameters());
  if (progress_.best_nll == 0) formats::save_model(directory_.model_file(), model_);
}

bool Training::validation_due() const {
  if (options_.validate_steps > 0) return progress_.step % options_.validate_steps == 0;
  return progress_.seconds - progress_.validated_seconds >= options_.validate_minutes * 60;
}

// A snapshot when the turn of this step has come.
void Training::keep_snapshot() {
  if (options_.keep_every == 0 || progress_.step % options_.keep_every != 0) return;
  const optim::AverageInPlace averaged(weights_.optimizer(), model_.transformer->parameters());
  formats::save_model(directory_.snapshot_file(progress_.step), model_);
}

// Validates the weights that would be kept, the moving average where there is one, and keeps them if they are the best.
Validation Training::judge() {
  const optim::AverageInPlace averaged(weights_.optimizer(), model_.transformer->parameters());
  const Validation validation = validator_.run(model_, true);
  if (!std::isfinite(validation.nll)) return validation;
  const bool best = progress_.best_nll == 0 || better(options_.metric, validation, best_);
  progress_.stalled = best ? 0 : progress_.stalled + 1;
  if (best) write_model(validation);
  directory_.add_snapshot(model_, progress_);
  return validation;
}

void Training::validate() {
  check_weights();
  const Validation validation = judge();
  check_kind(
      std::isfinite(validation.nll), ErrorKind::bad_model,
      "training: the validation loss after step {} is {}; the last checkpoint is intact. Try a lower --learning-rate",
      progress_.step, validation.nll);
  progress_.seconds += validation.seconds;
  progress_.validated_seconds = progress_.seconds;
  progress_.validated_step = progress_.step;
  json line = figures_of(validation);
  line["step"] = progress_.step;
  line["target_tokens"] = progress_.target_tokens;
  line["seconds"] = progress_.seconds;
  directory_.append_metrics(line, progress_);
  save();
  observer_.validated(where(), validation, progress_.stalled == 0);
}

// Weights that are no numbers are never written: no checkpoint or model with them could be read again.
void Training::check_weights() const {
  const double sum = kernels::sum_of_squares<float>(model_.transformer->parameters().flat().data<float>());
  check_kind(
      std::isfinite(sum), ErrorKind::bad_model,
      "training: a weight is no number after step {}; the last checkpoint is intact. Try a lower --learning-rate",
      progress_.step);
}

void Training::save() {
  check_weights();
  directory_.save(model_, weights_.optimizer(), progress_);
  saved_step_ = progress_.step;
}

// The last validation, and the mean of the last snapshots, unless they have been.
void Training::finish() {
  if (progress_.averaged_step == progress_.step) return;
  if (progress_.validated_step != progress_.step) validate();
  try_average();
}

void Training::write_model(const Validation& validation) {
  progress_.best_nll = validation.nll;
  progress_.best_bleu = validation.bleu;
  progress_.best_chrf = validation.chrf;
  best_ = validation;
  model_.provenance["steps"] = std::to_string(progress_.step);
  model_.provenance["target-tokens"] = std::to_string(progress_.target_tokens);
  model_.provenance["validation-nll"] = fmt::format("{:.4f}", validation.nll);
  model_.provenance["validation-bleu"] = fmt::format("{:.1f}", validation.bleu);
  formats::save_model(directory_.model_file(), model_);
}

// The mean of the last snapshots, read one at a time, is kept instead of the best model when it is better (paper 6.1).
void Training::try_average() {
  progress_.averaged_step = progress_.step;
  if (progress_.snapshots.size() < 2) return;
  std::vector<std::filesystem::path> files;
  for (const std::int64_t step : progress_.snapshots) {
    if (std::filesystem::exists(directory_.snapshot_file(step))) files.push_back(directory_.snapshot_file(step));
  }
  if (files.size() < 2) return;
  const auto next = [file = files.begin(), end = files.end()]() mutable -> std::optional<tensor::Tensor> {
    if (file == end) return std::nullopt;
    return formats::load_model(*file++).transformer->parameters().flat();
  };
  tensor::Tensor mean = mean_of_blocks(next);
  autograd::Parameters& parameters = model_.transformer->parameters();
  const auto exchange = [&] {
    const std::span<float> weights = parameters.flat().data<float>();
    std::swap_ranges(weights.begin(), weights.end(), mean.data<float>().begin());
  };
  exchange();
  const Validation validation = validator_.run(model_, true);
  const bool best = better(options_.metric, validation, best_);
  if (best) {
    model_.provenance["averaged-snapshots"] = std::to_string(files.size());
    write_model(validation);
  }
  directory_.append_metrics({{"step", progress_.step},
                             {"averaged_snapshots", files.size()},
                             {"valid_nll", validation.nll},
                             {"bleu", validation.bleu},
                             {"chrf", validation.chrf}},
                            progress_);
  exchange();
  model_.provenance.erase("averaged-snapshots");
  save();
  observer_.averaged(static_cast<std::int64_t>(files.size()), validation, best);
}

}  // namespace zhuyi::train
