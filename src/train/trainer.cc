#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "optim/average.h"
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
  return json{{"batch-tokens", o.batches.tokens},
              {"pool", o.batches.pool},
              {"accumulate", o.accumulate},
              {"beta1", o.adam.beta1},
              {"beta2", o.adam.beta2},
              {"epsilon", o.adam.epsilon},
              {"weight-decay", o.adam.decay},
              {"schedule", optim::name_of(o.schedule.kind)},
              {"learning-rate", o.schedule.peak},
              {"warmup", o.schedule.warmup},
              {"cooldown", o.schedule.cooldown},
              {"clip", o.clip},
              {"seed", o.seed}}
      .dump();
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
        adam_(model.transformer->parameters(), options.adam),
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
  double done() const;
  void step();
  double add_gradients(std::int64_t part, Window& sums);
  void report();
  StepReport where() const;
  bool validation_due() const;
  void validate();
  void snapshot();
  void save();
  void try_average();
  void write_model(const Validation& validation);
  void write_metrics(json line);

  formats::Model& model_;
  const EncodedCorpus& corpus_;
  const Validator& validator_;
  const TrainOptions& options_;
  Observer& observer_;
  optim::Adam adam_;
  autograd::Gradients gradients_;
  Progress progress_;
  std::vector<std::vector<std::int64_t>> plan_;  // of the current epoch
  Validation best_;
  StepReport last_;
  double gradient_norm_ = 0;
  std::int64_t validated_step_ = -1;
};

TrainResult Training::run() {
  resume();
  const std::int64_t first = progress_.step;
  plan_ = plan_epoch(corpus_.lengths(), options_.batches, progress_.epoch);
  check_kind(!plan_.empty(), ErrorKind::bad_file, "training: no pairs to train on");
  while (done() < 1) {
    if (observer_.stop_requested()) {
      save();
      if (progress_.best_nll == 0) formats::save_model(file("model.safetensors"), model_);
      return {true, progress_.step, best_};
    }
    step();
    if (progress_.step % options_.report_steps == 0) report();
    if (validation_due()) validate();
  }
  if (progress_.step > first) {
    if (validated_step_ != progress_.step) validate();
    try_average();
  }
  return {false, progress_.step, best_};
}

void Training::resume() {
  if (!std::filesystem::exists(file("checkpoint.safetensors"))) return;
  const Progress saved = load_checkpoint(file("checkpoint.safetensors"), model_, adam_);
  check_kind(saved.data == progress_.data, ErrorKind::bad_model,
             "{} was made with other training data; give the same files, or another directory",
             file("checkpoint.safetensors").string());
  check_kind(saved.options == progress_.options, ErrorKind::bad_model,
             "{} was made with other options: {}, now {}; give the same ones, or another directory",
             file("checkpoint.safetensors").string(), saved.options, progress_.options);
  progress_ = saved;
  const std::filesystem::path metrics = file("metrics.jsonl");
  if (std::filesystem::exists(metrics) &&
      static_cast<std::int64_t>(std::filesystem::file_size(metrics)) > progress_.metrics_bytes) {
    std::filesystem::resize_file(metrics, static_cast<std::uintmax_t>(progress_.metrics_bytes));
  }
  best_.nll = progress_.best_nll;
  observer_.resumed(where());
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
  autograd::Run run(tape, base::combine(options_.seed, static_cast<std::uint64_t>(progress_.step),
                                        static_cast<std::uint64_t>(part)));
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
    const double loss = add_gradients(part, sums);
    check_kind(std::isfinite(loss), ErrorKind::bad_model,
               "training: the loss of step {} is {}; the last checkpoint is intact. Try a lower --learning-rate",
               progress_.step + 1, loss);
  }
  ++progress_.step;
  const double scale = 1.0 / static_cast<double>(sums.target_tokens);
  gradient_norm_ = optim::gradient_norm(gradients_, scale);
  last_.rate = options_.schedule.rate(progress_.step, share);
  adam_.step(model_.transformer->parameters(), gradients_, last_.rate,
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

void Training::validate() {
  const Validation validation = validator_.run(model_, true);
  progress_.seconds += validation.seconds;
  progress_.validated_seconds = progress_.seconds;
  validated_step_ = progress_.step;
  const bool best = progress_.best_nll == 0 || validation.nll < progress_.best_nll;
  if (best) write_model(validation);
  write_metrics({{"step", progress_.step},
                 {"valid_nll", validation.nll},
                 {"bleu", validation.bleu},
                 {"chrf", validation.chrf},
                 {"translated", validation.translated},
                 {"target_tokens", progress_.target_tokens},
                 {"seconds", progress_.seconds}});
  snapshot();
  save();
  observer_.validated(where(), validation, best);
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

void Training::save() { save_checkpoint(file("checkpoint.safetensors"), model_, adam_, progress_); }

void Training::write_model(const Validation& validation) {
  progress_.best_nll = validation.nll;
  best_ = validation;
  model_.provenance["steps"] = std::to_string(progress_.step);
  model_.provenance["target-tokens"] = std::to_string(progress_.target_tokens);
  model_.provenance["validation-nll"] = fmt::format("{:.4f}", validation.nll);
  model_.provenance["validation-bleu"] = fmt::format("{:.1f}", validation.bleu);
  formats::save_model(file("model.safetensors"), model_);
}

// The mean of the last snapshots takes the place of the best model when its validation loss is lower (paper 6.1).
void Training::try_average() {
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
  const bool best = validation.nll < progress_.best_nll;
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

void Training::write_metrics(json line) {
  const std::string text = line.dump() + "\n";
  base::append_file(file("metrics.jsonl"), text);
  progress_.metrics_bytes += static_cast<std::int64_t>(text.size());
}

}  // namespace

TrainResult train(formats::Model& model, const EncodedCorpus& corpus, const Validator& validator,
                  const TrainOptions& options, Observer& observer) {
  base::check(options.accumulate >= 1 && options.report_steps >= 1, "training: accumulate {} and report-steps {}, expected 1 or more",
              options.accumulate, options.report_steps);
  base::check(options.budget.minutes > 0 || options.budget.steps > 0 || options.budget.epochs > 0,
              "training: no end is set; give minutes, steps or epochs");
  return Training(model, corpus, validator, options, observer).run();
}

}  // namespace zhuyi::train
