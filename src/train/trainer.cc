#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "kernels/vector.h"
#include "optim/average.h"
#include "optim/moving_average.h"
#include "train/checkpoint.h"

namespace zhuyi::train {
namespace {

using base::check_kind;
using base::ErrorKind;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// What must be the same when a run continues, as text.
std::string fixed_options(const TrainOptions& o) {
  json out;
  out["batch-tokens"] = o.batches.tokens;
  out["pool"] = o.batches.pool;
  out["accumulate"] = o.accumulate;
  out["optimizer"] = optim::name_of(o.optimizer.kind);
  out["beta1"] = o.optimizer.adam.beta1;
  out["beta2"] = o.optimizer.adam.beta2;
  out["epsilon"] = o.optimizer.adam.epsilon;
  out["weight-decay"] = o.optimizer.adam.decay;
  out["muon-momentum"] = o.optimizer.muon.momentum;
  out["ema"] = o.optimizer.average;
  out["schedule"] = optim::name_of(o.schedule.kind);
  out["learning-rate"] = o.schedule.peak;
  out["warmup"] = o.schedule.warmup;
  out["cooldown"] = o.schedule.cooldown;
  out["clip"] = o.clip;
  out["seed"] = o.seed;
  return out.dump();
}

// One run: the state of train(), and its parts as functions.
class Training {
 public:
  Training(formats::Model& model, const EncodedCorpus& corpus, const Validator& validator, const TrainOptions& options,
           Observer& observer)
      : model_(model),
        corpus_(corpus),
        validator_(validator),
        options_(options),
        observer_(observer),
        optimizer_(optim::make_optimizer(model.transformer->parameters(), options.optimizer)),
        gradients_(model.transformer->parameters()) {
    progress_.data = corpus.fingerprint();
    progress_.options = fixed_options(options);
  }

  TrainResult run();

 private:
  std::filesystem::path file(const std::string& name) const { return options_.directory / name; }
  std::filesystem::path snapshot_file(std::int64_t step) const {
    return file(fmt::format("snapshot-{}.safetensors", step));
  }

  void resume();
  void cut_metrics();
  double done() const;
  bool out_of_patience() const { return options_.patience > 0 && progress_.stalled >= options_.patience; }
  void step();
  double add_gradients(std::int64_t part, Window& sums);
  void report();
  StepReport where() const;
  bool validation_due() const;
  Validation judge();
  void validate();
  void snapshot();
  void check_weights() const;
  void save();
  void try_average();
  void write_model(const Validation& validation);
  void write_metrics(const json& line);

  formats::Model& model_;
  const EncodedCorpus& corpus_;
  const Validator& validator_;
  const TrainOptions& options_;
  Observer& observer_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  autograd::Gradients gradients_;
  Progress progress_;
  std::vector<std::vector<std::int64_t>> plan_;  // of the current epoch
  Validation best_;
  StepReport last_;
  double gradient_norm_ = 0;
};

TrainResult Training::run() {
  check_kind(corpus_.size() > 0, ErrorKind::bad_file, "training: no pairs to train on");
  resume();
  plan_ = plan_epoch(corpus_.lengths(), options_.batches, progress_.epoch);
  observer_.started(where());
  while (done() < 1 && !out_of_patience()) {
    if (observer_.stop_requested()) {
      save();
      const optim::AverageInPlace place(*optimizer_, model_.transformer->parameters());
      if (progress_.best_nll == 0) formats::save_model(file("model.safetensors"), model_);
      return {true, false, progress_.step, best_};
    }
    step();
    if (progress_.step % options_.report_steps == 0) report();
    if (validation_due()) validate();
  }
  if (progress_.averaged_step != progress_.step) {
    if (progress_.validated_step != progress_.step) validate();
    try_average();
  }
  return {false, done() < 1, progress_.step, best_};
}

void Training::resume() {
  if (!std::filesystem::exists(file("checkpoint.safetensors"))) return cut_metrics();
  const Progress saved = load_checkpoint(file("checkpoint.safetensors"), model_, *optimizer_);
  check_kind(saved.data == progress_.data, ErrorKind::bad_model,
             "{} was made with other training data; give the same files, or another directory",
             file("checkpoint.safetensors").string());
  check_kind(saved.options == progress_.options, ErrorKind::bad_model,
             "{} was made with other options ({}); give the same ones, or another directory",
             file("checkpoint.safetensors").string(), differences(saved.options, progress_.options));
  progress_ = saved;
  cut_metrics();
  best_.nll = progress_.best_nll;
  best_.bleu = progress_.best_bleu;
  best_.chrf = progress_.best_chrf;
}

// Takes off the lines of metrics that were written after the checkpoint: their steps are taken again.
void Training::cut_metrics() {
  const std::filesystem::path metrics = file("metrics.jsonl");
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(metrics, error);
  const auto keep = error ? 0 : std::min(size, static_cast<std::uintmax_t>(progress_.metrics_bytes));
  if (!error && size > keep) std::filesystem::resize_file(metrics, keep, error);
  check_kind(!error || !std::filesystem::exists(metrics), ErrorKind::system, "cannot shorten {}: {}", metrics.string(),
             error.message());
  progress_.metrics_bytes = static_cast<std::int64_t>(keep);
}

// The share of the training that is done, by the limit that is nearest.
double Training::done() const {
  const Budget& budget = options_.budget;
  double share = 0;
  if (budget.minutes > 0) share = std::max(share, progress_.seconds / 60 / budget.minutes);
  if (budget.steps > 0) {
    share = std::max(share, static_cast<double>(progress_.step) / static_cast<double>(budget.steps));
  }
  if (budget.epochs > 0) {
    const double part = plan_.empty() ? 0 : static_cast<double>(progress_.batch) / static_cast<double>(plan_.size());
    share = std::max(share, (static_cast<double>(progress_.epoch) + part) / static_cast<double>(budget.epochs));
  }
  return share;
}

// Adds one batch's gradients; gives its loss.
double Training::add_gradients(std::int64_t part, Window& sums) {
  const nn::Batch batch = corpus_.batch(plan_[static_cast<std::size_t>(progress_.batch)]);
  autograd::Tape tape(gradients_);
  autograd::Run run(
      tape, base::combine(options_.seed, static_cast<std::uint64_t>(progress_.step), static_cast<std::uint64_t>(part)));
  run.precision = options_.precision;
  const ops::Loss loss = model_.transformer->loss(batch, run);
  tape.backward(loss.total);
  const double total = loss.total.value().at(0, 0);
  sums.loss += total;
  sums.nll += loss.nll;
  sums.target_tokens += batch.target.sentences.tokens();
  if (++progress_.batch == static_cast<std::int64_t>(plan_.size())) {
    progress_.batch = 0;
    ++progress_.epoch;
    plan_ = plan_epoch(corpus_.lengths(), options_.batches, progress_.epoch);
  }
  return total;
}

void Training::step() {
  const Clock::time_point start = Clock::now();
  const double share = done();
  Window sums;
  gradients_.clear();
  for (std::int64_t part = 0; part < options_.accumulate; ++part) {
    if (part > 0 && done() >= 1) break;  // the last epoch ends within the step
    const double loss = add_gradients(part, sums);
    check_kind(std::isfinite(loss), ErrorKind::bad_model,
               "training: the loss of step {} is {}; the last checkpoint is intact. Try a lower --learning-rate",
               progress_.step + 1, loss);
  }
  ++progress_.step;
  const double scale = 1.0 / static_cast<double>(sums.target_tokens);
  gradient_norm_ = optim::gradient_norm(gradients_, scale);
  check_kind(
      std::isfinite(gradient_norm_), ErrorKind::bad_model,
      "training: the norm of the gradient of step {} is {}; the last checkpoint is intact. Try a lower --learning-rate",
      progress_.step, gradient_norm_);
  last_.rate = options_.schedule.rate(progress_.step, share);
  optimizer_->step(model_.transformer->parameters(), gradients_, last_.rate,
                   scale * optim::clip_factor(gradient_norm_, options_.clip));
  const double seconds = seconds_since(start);
  progress_.seconds += seconds;
  progress_.target_tokens += sums.target_tokens;
  progress_.window.loss += sums.loss;
  progress_.window.nll += sums.nll;
  progress_.window.target_tokens += sums.target_tokens;
  progress_.window.seconds += seconds;
}

StepReport Training::where() const {
  StepReport report = last_;
  report.step = progress_.step;
  report.epoch = progress_.epoch;
  report.progress = std::min(1.0, done());
  report.seconds = progress_.seconds;
  report.seconds_left = report.progress > 0 ? report.seconds * (1 - report.progress) / report.progress : 0;
  report.target_tokens = progress_.target_tokens;
  return report;
}

void Training::report() {
  const Window& window = progress_.window;
  const auto tokens = static_cast<double>(window.target_tokens);
  last_.loss = window.loss / tokens;
  last_.nll = window.nll / tokens;
  last_.gradient_norm = gradient_norm_;
  last_.tokens_per_second = tokens / window.seconds;
  progress_.window = {};
  const StepReport now = where();
  write_metrics({{"step", now.step},
                 {"epoch", now.epoch},
                 {"loss", now.loss},
                 {"nll", now.nll},
                 {"learning_rate", now.rate},
                 {"gradient_norm", now.gradient_norm},
                 {"target_tokens", now.target_tokens},
                 {"target_tokens_per_second", now.tokens_per_second},
                 {"seconds", now.seconds}});
  observer_.stepped(now);
}

bool Training::validation_due() const {
  if (options_.validate_steps > 0) return progress_.step % options_.validate_steps == 0;
  return progress_.seconds - progress_.validated_seconds >= options_.validate_minutes * 60;
}

// Validates the weights that would be kept, the moving average where there is one, and keeps them if they are the best.
Validation Training::judge() {
  const optim::AverageInPlace place(*optimizer_, model_.transformer->parameters());
  const Validation validation = validator_.run(model_, true);
  if (!std::isfinite(validation.nll)) return validation;
  const bool best = progress_.best_nll == 0 || better(options_.metric, validation, best_);
  progress_.stalled = best ? 0 : progress_.stalled + 1;
  if (best) write_model(validation);
  snapshot();
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
  write_metrics({{"step", progress_.step},
                 {"valid_nll", validation.nll},
                 {"bleu", validation.bleu},
                 {"chrf", validation.chrf},
                 {"translated", validation.translated},
                 {"target_tokens", progress_.target_tokens},
                 {"seconds", progress_.seconds}});
  save();
  observer_.validated(where(), validation, progress_.stalled == 0);
}

// Keeps the weights of this step, and those of the last few.
void Training::snapshot() {
  if (options_.keep <= 0) return;
  formats::save_model(snapshot_file(progress_.step), model_);
  progress_.snapshots.push_back(progress_.step);
  while (static_cast<std::int64_t>(progress_.snapshots.size()) > options_.keep) {
    std::error_code ignored;  // a file that is gone already needs no removal
    std::filesystem::remove(snapshot_file(progress_.snapshots.front()), ignored);
    progress_.snapshots.erase(progress_.snapshots.begin());
  }
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
  save_checkpoint(file("checkpoint.safetensors"), model_, *optimizer_, progress_);
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
  formats::save_model(file("model.safetensors"), model_);
}

// The mean of the last snapshots takes the place of the best model when it is better (paper 6.1).
void Training::try_average() {
  progress_.averaged_step = progress_.step;
  if (progress_.snapshots.size() < 2) return;
  std::vector<tensor::Tensor> blocks;
  for (const std::int64_t step : progress_.snapshots) {
    if (!std::filesystem::exists(snapshot_file(step))) continue;
    blocks.push_back(formats::load_model(snapshot_file(step)).transformer->parameters().flat());
  }
  if (blocks.size() < 2) return;
  const tensor::Tensor& weights = model_.transformer->parameters().flat();
  const tensor::Tensor last = weights.clone();
  weights.assign(optim::mean_of(blocks));
  const Validation validation = validator_.run(model_, true);
  const bool best = better(options_.metric, validation, best_);
  if (best) {
    model_.provenance["averaged-snapshots"] = std::to_string(blocks.size());
    write_model(validation);
  }
  write_metrics({{"step", progress_.step},
                 {"averaged_snapshots", blocks.size()},
                 {"valid_nll", validation.nll},
                 {"bleu", validation.bleu},
                 {"chrf", validation.chrf}});
  weights.assign(last);
  model_.provenance.erase("averaged-snapshots");
  save();
  observer_.averaged(static_cast<std::int64_t>(blocks.size()), validation, best);
}

void Training::write_metrics(const json& line) {
  const std::string text = line.dump() + "\n";
  base::append_file(file("metrics.jsonl"), text);
  progress_.metrics_bytes += static_cast<std::int64_t>(text.size());
}

}  // namespace

void validate(const TrainOptions& o) {
  const auto check_at_least = [](const char* name, auto value, auto least) {
    base::check(std::isfinite(static_cast<double>(value)) && value >= least, "{} is {}, expected {} or more", name,
                value, least);
  };
  const auto check_share = [](const char* name, double value) {
    base::check(value >= 0 && value <= 1, "{} is {}, expected 0 to 1", name, value);
  };
  check_at_least("minutes", o.budget.minutes, 0.0);
  check_at_least("steps", o.budget.steps, std::int64_t{0});
  check_at_least("epochs", o.budget.epochs, std::int64_t{0});
  base::check(o.budget.minutes > 0 || o.budget.steps > 0 || o.budget.epochs > 0,
              "training: no end is set; give minutes, steps or epochs");
  check_at_least("batch-tokens", o.batches.tokens, std::int64_t{1});
  check_at_least("pool", o.batches.pool, std::int64_t{1});
  check_at_least("accumulate", o.accumulate, std::int64_t{1});
  check_at_least("learning-rate", o.schedule.peak, 0.0);
  check_at_least("warmup", o.schedule.warmup, std::int64_t{1});
  check_share("cooldown", o.schedule.cooldown);
  check_at_least("clip", o.clip, 0.0);
  const optim::AdamOptions& adam = o.optimizer.adam;
  const double momentum = o.optimizer.muon.momentum;
  base::check(adam.beta1 >= 0 && adam.beta1 < 1 && adam.beta2 >= 0 && adam.beta2 < 1,
              "beta1 is {} and beta2 {}, expected at least 0 and less than 1", adam.beta1, adam.beta2);
  check_at_least("epsilon", adam.epsilon, 0.0);
  check_at_least("weight-decay", adam.decay, 0.0);
  base::check(momentum >= 0 && momentum < 1, "muon-momentum is {}, expected at least 0 and less than 1", momentum);
  check_at_least("validate-minutes", o.validate_minutes, 0.0);
  check_at_least("validate-steps", o.validate_steps, std::int64_t{0});
  check_at_least("patience", o.patience, std::int64_t{0});
  base::check(o.optimizer.average >= 0 && o.optimizer.average < 1, "ema is {}, expected at least 0 and less than 1",
              o.optimizer.average);
  check_at_least("keep", o.keep, std::int64_t{0});
  check_at_least("report-steps", o.report_steps, std::int64_t{1});
}

TrainResult train(formats::Model& model, const EncodedCorpus& corpus, const Validator& validator,
                  const TrainOptions& options, Observer& observer) {
  validate(options);
  base::check(options.metric == Metric::nll || validator.translated() > 0,
              "metric is {}, but no sentences are translated for it; set validate-translations",
              name_of(options.metric));
  return Training(model, corpus, validator, options, observer).run();
}

}  // namespace zhuyi::train
