#pragma once
// The training loop (paper, section 5): batches, steps, validation, checkpoints; an observer hears of the progress.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autograd/profile.h"
#include "formats/model_file.h"
#include "train/communicator.h"
#include "train/corpus_source.h"
#include "train/encoded_corpus.h"
#include "train/options.h"
#include "train/validator.h"

namespace zhuyi::train {

// The last steps.
struct StepReport {
  std::int64_t step = 0;
  std::int64_t epoch = 0;          // complete ones
  double loss = 0;                 // smoothed cross-entropy per target token, mean since the last report
  double nll = 0;                  // plain
  double rate = 0;                 // learning rate
  double gradient_norm = 0;        // of the last step, before clipping
  double tokens_per_second = 0;    // target tokens
  double progress = 0;             // 0 to 1
  double seconds = 0;              // of training in all
  double seconds_left = 0;         // an estimate
  std::int64_t target_tokens = 0;  // seen in all
};

// Hears of the progress, and may ask to stop.
class Observer {
 public:
  virtual ~Observer() = default;
  // The products of this run are computed in `precision`. Comes before started().
  virtual void decided(kernels::Precision /*precision*/) {}
  // The run is accepted: options, data and checkpoint fit together. Step 0 for a new run. Nothing is written before.
  virtual void started(const StepReport& /*where*/) {}
  virtual void stepped(const StepReport& /*report*/) {}
  // The newest checkpoint is damaged, as `message` says, and the one before is used. Comes before started().
  virtual void recovered(const std::string& /*message*/) {}
  // A step was left out: its loss or gradient is not finite. `lines` of the training text are in it; so many steps have
  // been left out in all.
  virtual void skipped(const StepReport& /*where*/, const std::vector<std::int64_t>& /*lines*/,
                       std::int64_t /*skipped*/) {}
  virtual void validated(const StepReport& /*where*/, const Validation& /*result*/, bool /*best*/) {}
  virtual void averaged(std::int64_t /*snapshots*/, const Validation& /*result*/, bool /*best*/) {}
  virtual bool stop_requested() { return false; }
};

struct TrainResult {
  bool interrupted = false;
  bool out_of_patience = false;  // ended before its budget was used up
  std::int64_t steps = 0;
  Validation best;
  kernels::Precision precision = kernels::Precision::f32;  // of the products, as it was decided
  std::optional<autograd::Profile> profile;  // if it was asked for: of this call's steps, without the first of several
};

// What the texts of a run are, as JSON: they must be the same when it is continued.
std::string description(const CorpusSource& source, const Validator& validator);

// Trains `model` in options.directory, which must exist and be locked (lock_run); continues from the checkpoint there
// if there is one, or from the one before where it is damaged. With a limit in steps or epochs and validations by steps
// a run that was stopped, or killed, and continued gives bit for bit what an uninterrupted one gives on the same CPU,
// in any number of threads. Leaves checkpoint.safetensors and the one before, snapshot-STEP.safetensors, metrics.jsonl
// and model.safetensors (the best by validation loss, the mean of the last snapshots tried too). Throws bad_model for a
// checkpoint of other data or another configuration and when max_skipped steps in a row were left out, system when the
// disk is full; then the last checkpoint is intact.
//
// With several processes every one calls this with the same arguments; process 0 alone uses the directory and the
// observer, and all give the same result. What a step computes does not depend on their number (see add_gradients), so
// a run may continue with another.
TrainResult train(formats::Model& model, CorpusSource& source, const Validator& validator, const TrainOptions& options,
                  Observer& observer, Communicator& processes);
TrainResult train(formats::Model& model, const EncodedCorpus& corpus, const Validator& validator,
                  const TrainOptions& options, Observer& observer, Communicator& processes);
TrainResult train(formats::Model& model, const EncodedCorpus& corpus, const Validator& validator,
                  const TrainOptions& options, Observer& observer);

}  // namespace zhuyi::train
