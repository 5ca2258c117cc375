#include "train/training.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/float_mode.h"
#include "train/memory.h"
#include "train/precision.h"
#include "train/same_weights.h"
#include "train/shared_state.h"
#include "train/step_gradient.h"

namespace zhuyi::train {

using autograd::Operation;
using autograd::Timing;
using base::check_kind;
using base::ErrorKind;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kCheckSteps = 100;  // steps between checks that all processes have the same weights

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

Training::Training(formats::Model& model, CorpusSource& source, const Validator& validator, TrainOptions options,
                   Observer& observer, Communicator& processes)
    : model_(model),
      validator_(validator),
      options_(std::move(options)),
      observer_(observer),
      processes_(processes),
      directory_(options_.directory, options_.keep, options_.keep_every),
      weights_(*model.transformer, options_),
      plan_(source, options_.batches) {
  progress_.data = description(source, validator);
  progress_.options = fixed_options(options_);
}

TrainResult Training::run() {
  autograd::Parameters& parameters = model_.transformer->parameters();
  const auto check_all_the_same = [&] { check_same_weights(processes_, parameters.flat(), progress_.step); };
  if (first()) resume();
  share_state(processes_, parameters, weights_.optimizer(), progress_);
  plan_.go_to(progress_);
  decide();
  if (first()) observer_.started(where());
  for (;;) {
    const Wishes wishes = share_wishes();
    if (done() >= 1 || wishes.over) break;
    if (wishes.stop) {
      check_all_the_same();
      if (first()) stop();
      return result(true);
    }
    step();
    if (first()) {
      if (progress_.step % options_.report_steps == 0) report();
      keep_snapshot();
    }
    const bool validation = broadcast(processes_, first() && validation_due() ? 1.0 : 0.0) > 0;
    if (validation || progress_.step % kCheckSteps == 0) check_all_the_same();
    if (validation && first()) validate();
  }
  check_all_the_same();
  if (first()) finish();
  return result(false);
}

TrainResult Training::result(bool interrupted) const {
  return {.interrupted = interrupted,
          .out_of_patience = !interrupted && done() < 1,
          .steps = progress_.step,
          .best = best_,
          .precision = *options_.precision,
          .profile = weights_.profile()};
}

// Process 0 takes up the run where its newest checkpoint left it.
void Training::resume() {
  const FoundCheckpoint found = newest_checkpoint(options_.directory);
  if (found.checkpoint) {
    const Progress& saved = found.checkpoint->progress;
    base::within(found.path.string(), [&] {
      const std::string others = option_differences(saved.options, options_);
      check_kind(others.empty(), ErrorKind::bad_model,
                 "it was made with other options ({}); give the same ones, or another directory", others);
      restore(*found.checkpoint, model_, weights_.optimizer());
      check_kind(saved.data == progress_.data, ErrorKind::bad_model,
                 "it was made with other texts ({}); give the same files, or another directory",
                 differences(saved.data, progress_.data));
    });
    const std::string now = progress_.options;
    progress_ = saved;
    progress_.options = now;
    saved_options_ = saved.options;
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

// What is decided once a run: later steps would give other bits with another precision of products, or with batches
// that are split elsewhere.
void Training::decide() {
  options_.precision = decided_precision(processes_, options_.precision, saved_options_);
  progress_.options = fixed_options(options_);
  model_.transformer->train_in(*options_.precision);
  if (progress_.pass_bytes < 0) {
    progress_.pass_bytes =
        pass_limit(options_.memory.count, resident_bytes(model_.transformer->parameters(), weights_.optimizer()) +
                                              corpus_bytes(plan_.corpus()) + corpus_bytes(validator_.corpus()));
  }
  if (first()) observer_.decided(*options_.precision);
}

// What all of them do next; they take over the clock of process 0.
Training::Wishes Training::share_wishes() {
  std::array<double, 3> sums = {first() ? progress_.seconds : 0.0, observer_.stop_requested() ? 1.0 : 0.0,
                                first() && out_of_patience() ? 1.0 : 0.0};
  processes_.sum(std::span<double>(sums));
  progress_.seconds = sums[0];
  return {sums[1] > 0, sums[2] > 0};
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
  // The moments of pieces that are not seen any more fade until they are denormal.
  const base::FlushDenormals flush;
  const Clock::time_point start = Clock::now();
  const double share = done();
  weights_.begin();
  const std::vector<std::vector<std::int64_t>> batches = next_batches();
  const GradientSource source{.model = *model_.transformer,
                              .corpus = plan_.corpus(),
                              .processes = processes_,
                              .seed = options_.seed,
                              .pass_bytes = progress_.pass_bytes,
                              .bits = options_.gradient_bits,
                              .profile = weights_.running_profile()};
  const StepLoss loss = add_gradients(source, progress_.step, batches, weights_.gradients());
  ++progress_.step;
  last_.rate = options_.schedule.rate(progress_.step, share, progress_.target_tokens + loss.target_tokens);
  const bool finite = weights_.move(loss, last_.rate, processes_);
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

}  // namespace zhuyi::train
