#include "train/trainer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kernels/vector.h"
#include "optim/average.h"
#include "optim/moving_average.h"
#include "train/checkpoint.h"
#include "train/epoch_plan.h"
#include "train/memory.h"
#include "train/run_directory.h"
#include "train/shared_state.h"
#include "train/step_gradient.h"
#include "train/weight_step.h"

namespace zhuyi::train {
namespace {

using autograd::Operation;
using autograd::Timing;
using base::check_kind;
using base::ErrorKind;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// One run: the state of train(), and its parts as functions.
class Training {
 public:
  Training(formats::Model& model, CorpusSource& source, const Validator& validator, const TrainOptions& options,
           Observer& observer, Communicator& processes)
      : model_(model),
        validator_(validator),
        options_(options),
        observer_(observer),
        processes_(processes),
        directory_(options.directory, options.keep, options.keep_every),
        weights_(*model.transformer, options),
        plan_(source, options.batches) {
    progress_.data = description(source, validator);
    progress_.options = fixed_options(options);
  }

  TrainResult run();

 private:
  bool first() const { return processes_.rank() == 0; }
  void resume();
  void stop();
  struct Wishes {
    bool stop = false;  // one of the processes is asked to
    bool over = false;  // nothing has got better for too long
  };
  Wishes share_wishes();
  bool out_of_patience() const { return options_.patience > 0 && progress_.stalled >= options_.patience; }
  double done() const;
  std::vector<std::vector<std::int64_t>> next_batches();
  void step();
  void skip(const std::vector<std::vector<std::int64_t>>& batches, const StepLoss& loss);
  void report();
  StepReport where() const;
  bool validation_due() const;
  void keep_snapshot();
  Validation judge();
  void validate();
  void check_weights() const;
  void save();
  void finish();
  void try_average();
  void write_model(const Validation& validation);

  formats::Model& model_;
  const Validator& validator_;
  const TrainOptions& options_;
  Observer& observer_;
  Communicator& processes_;
  RunDirectory directory_;
  WeightStep weights_;
  std::int64_t pass_bytes_ = 0;
  Progress progress_;
  EpochPlan plan_;
  std::int64_t saved_step_ = 0;  // of the last checkpoint
  Validation best_;
  StepReport last_;
};

TrainResult Training::run() {
  if (first()) resume();
  share_state(processes_, model_.transformer->parameters(), weights_.optimizer(), progress_);
  plan_.go_to(progress_);
  model_.transformer->train_in(options_.precision);
  pass_bytes_ = pass_limit(options_.memory, model_.transformer->config(), plan_.corpus());
  if (first()) observer_.started(where());
  for (;;) {
    const Wishes wishes = share_wishes();
    if (done() >= 1 || wishes.over) break;
    if (wishes.stop) {
      if (first()) stop();
      return {true, false, progress_.step, best_, weights_.profile()};
    }
    step();
    if (!first()) continue;
    if (progress_.step % options_.report_steps == 0) report();
    keep_snapshot();
    if (validation_due()) validate();
  }
  if (first()) finish();
  return {false, done() < 1, progress_.step, best_, weights_.profile()};
}

// Process 0 takes up the run where its newest checkpoint left it.
void Training::resume() {
  const FoundCheckpoint found = newest_checkpoint(options_.directory);
  if (found.checkpoint) {
    const Progress& saved = found.checkpoint->progress;
    base::within(found.path.string(), [&] {
      check_kind(saved.options == progress_.options, ErrorKind::bad_model,
                 "it was made with other options ({}); give the same ones, or another directory",
                 differences(saved.options, progress_.options));
      restore(*found.checkpoint, model_, weights_.optimizer());
      check_kind(saved.data == progress_.data, ErrorKind::bad_model,
                 "it was made with other texts ({}); give the same files, or another directory",
                 differences(saved.data, progress_.data));
    });
    progress_ = saved;
    saved_step_ = saved.step;
    best_.nll = saved.best_nll;
    best_.bleu = saved.best_bleu;
    best_.chrf = saved.best_chrf;
  }
  if (!found.damage.empty()) observer_.recovered(found.damage);
  directory_.begin(found, progress_);
  // A model that is gone leaves nothing to be better than.
  if (!std::filesystem::exists(directory_.model_file())) progress_.best_nll = 0;
}

// What all of them do next; they take over the clock of process 0.
Training::Wishes Training::share_wishes() {
  std::array<double, 3> sums = {first() ? progress_.seconds : 0.0, observer_.stop_requested() ? 1.0 : 0.0,
                                first() && out_of_patience() ? 1.0 : 0.0};
  processes_.sum(std::span<double>(sums));
  progress_.seconds = sums[0];
  return {sums[1] > 0, sums[2] > 0};
}

// Leaves a state to continue from, and a model to use.
void Training::stop() {
  save();
  const optim::AverageInPlace place(weights_.optimizer(), model_.transformer->parameters());
  if (progress_.best_nll == 0) formats::save_model(directory_.model_file(), model_);
}

// The share of the training that is done, by the limit that is nearest.
double Training::done() const {
  const Budget& budget = options_.budget;
  double share = 0;
  if (budget.minutes > 0) share = std::max(share, progress_.seconds / 60 / budget.minutes);
  if (budget.steps > 0) {
    share = std::max(share, static_cast<double>(progress_.step) / static_cast<double>(budget.steps));
  }
  if (budget.epochs > 0) share = std::max(share, plan_.epochs(progress_) / static_cast<double>(budget.epochs));
  return share;
}

std::vector<std::vector<std::int64_t>> Training::next_batches() {
  const Timing timing(weights_.running_profile(), Operation::batch, autograd::Pass::forward);
  return plan_.next(options_.accumulate, progress_, [&] { return done() >= 1; });
}

void Training::step() {
  const Clock::time_point start = Clock::now();
  const double share = done();
  weights_.begin();
  const std::vector<std::vector<std::int64_t>> batches = next_batches();
  const GradientSource source{
      *model_.transformer,       plan_.corpus(), processes_, options_.seed, pass_bytes_, options_.gradient_bits,
      weights_.running_profile()};
  const StepLoss loss = add_gradients(source, progress_.step, batches, weights_.gradients());
  ++progress_.step;
  last_.rate = options_.schedule.rate(progress_.step, share, progress_.target_tokens + loss.target_tokens);
  const bool finite = weights_.move(loss, last_.rate);
  if (finite) {
    progress_.skipped_in_row = 0;
    progress_.target_tokens += loss.target_tokens;
    progress_.window.loss += loss.loss;
    progress_.window.nll += loss.nll;
    progress_.window.target_tokens += loss.target_tokens;
  }
  const double seconds = seconds_since(start);
  progress_.seconds += seconds;
  progress_.window.seconds += seconds;
  if (!finite) skip(batches, loss);
}

// Says which lines stand in the batches that gave no finite loss (or gradient), and gives up after too many such steps.
void Training::skip(const std::vector<std::vector<std::int64_t>>& batches, const StepLoss& loss) {
  ++progress_.skipped;
  ++progress_.skipped_in_row;
  const std::vector<std::int64_t> lines = lines_in_doubt(plan_.corpus(), batches, loss);
  if (first()) {
    directory_.append_metrics({{"step", progress_.step}, {"skipped", progress_.skipped}, {"lines", lines}}, progress_);
    observer_.skipped(where(), lines, progress_.skipped);
  }
  if (progress_.skipped_in_row < options_.max_skipped) return;
  if (!first()) share_wishes();  // waits; process 0 says why and ends all
  base::fail(ErrorKind::bad_model,
             "training: the {} of step {} is not finite, the {} in a row that had to be left out (--max-skipped); its "
             "batch holds the lines {} of the training text. The last checkpoint, of step {}, is intact. Try a lower "
             "--learning-rate or a longer --warmup in another directory; --from starts there with a model of this run",
             loss.not_finite.empty() ? "gradient" : "loss", progress_.step,
             progress_.skipped_in_row == 1 ? "first" : fmt::format("{}th", progress_.skipped_in_row),
             ranges_text(lines), saved_step_);
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

bool Training::validation_due() const {
  if (options_.validate_steps > 0) return progress_.step % options_.validate_steps == 0;
  return progress_.seconds - progress_.validated_seconds >= options_.validate_minutes * 60;
}

// A snapshot when the turn of this step has come.
void Training::keep_snapshot() {
  if (options_.keep_every == 0 || progress_.step % options_.keep_every != 0) return;
  const optim::AverageInPlace place(weights_.optimizer(), model_.transformer->parameters());
  formats::save_model(directory_.snapshot_file(progress_.step), model_);
}

// Validates the weights that would be kept, the moving average where there is one, and keeps them if they are the best.
Validation Training::judge() {
  const optim::AverageInPlace place(weights_.optimizer(), model_.transformer->parameters());
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

// The mean of the last snapshots takes the place of the best model when it is better (paper 6.1).
void Training::try_average() {
  progress_.averaged_step = progress_.step;
  if (progress_.snapshots.size() < 2) return;
  std::vector<tensor::Tensor> blocks;
  for (const std::int64_t step : progress_.snapshots) {
    if (!std::filesystem::exists(directory_.snapshot_file(step))) continue;
    blocks.push_back(formats::load_model(directory_.snapshot_file(step)).transformer->parameters().flat());
  }
  if (blocks.size() < 2) return;
  tensor::Tensor& weights = model_.transformer->parameters().flat();
  const tensor::Tensor last = weights.clone();
  weights.assign(optim::mean_of(blocks));
  const Validation validation = validator_.run(model_, true);
  const bool best = better(options_.metric, validation, best_);
  if (best) {
    model_.provenance["averaged-snapshots"] = std::to_string(blocks.size());
    write_model(validation);
  }
  directory_.append_metrics({{"step", progress_.step},
                             {"averaged_snapshots", blocks.size()},
                             {"valid_nll", validation.nll},
                             {"bleu", validation.bleu},
                             {"chrf", validation.chrf}},
                            progress_);
  weights.assign(last);
  model_.provenance.erase("averaged-snapshots");
  save();
  observer_.averaged(static_cast<std::int64_t>(blocks.size()), validation, best);
}

}  // namespace

TrainResult train(formats::Model& model, CorpusSource& source, const Validator& validator, const TrainOptions& options,
                  Observer& observer, Communicator& processes) {
  validate(options);
  base::check(options.metric == Metric::nll || validator.translated() > 0,
              "metric is {}, but no sentences are translated for it; set validate-translations",
              name_of(options.metric));
  return Training(model, source, validator, options, observer, processes).run();
}

TrainResult train(formats::Model& model, const EncodedCorpus& corpus, const Validator& validator,
                  const TrainOptions& options, Observer& observer, Communicator& processes) {
  WholeCorpus whole(corpus);
  return train(model, whole, validator, options, observer, processes);
}

TrainResult train(formats::Model& model, const EncodedCorpus& corpus, const Validator& validator,
                  const TrainOptions& options, Observer& observer) {
  OneProcess alone;
  return train(model, corpus, validator, options, observer, alone);
}

}  // namespace zhuyi::train
