#pragma once
// The training loop (paper, section 5): batches, steps, validation, checkpoints; an observer hears of the progress.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "autograd/profile.h"
#include "data/batcher.h"
#include "formats/model_file.h"
#include "kernels/gemm.h"
#include "optim/optimizers.h"
#include "optim/schedule.h"
#include "train/communicator.h"
#include "train/corpus_source.h"
#include "train/encoded_corpus.h"
#include "train/metric.h"
#include "train/validator.h"

namespace zhuyi::train {

// How long to train: until the first limit that is set is reached. 0: no such limit.
struct Budget {
  double minutes = 0;  // of training in all, earlier runs of the same directory counted in
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
};

struct TrainOptions {
  std::filesystem::path directory;  // of the run: checkpoint, metrics, model
  data::BatcherOptions batches;
  std::int64_t accumulate = 1;                             // batches whose gradients make one step
  kernels::Precision precision = kernels::Precision::f32;  // of the products; weights, sums and the optimizer are f32
  optim::OptimizerOptions optimizer;
  optim::Schedule schedule;
  double clip = 1;  // largest norm of the gradient of the mean token loss; 0: no limit
  std::uint64_t seed = 1;
  Budget budget;
  double validate_minutes = 2;      // time between validations; each saves a checkpoint
  std::int64_t validate_steps = 0;  // steps between validations, instead of the time
  Metric metric = Metric::nll;      // says which model is the best
  std::int64_t patience = 0;        // validations in a row without a better model that end the run; 0: none do
  std::int64_t keep = 4;            // snapshots kept, whose mean is tried at the end
  std::int64_t keep_every = 0;      // steps between snapshots that stay; 0: none
  std::int64_t report_steps = 10;   // steps between lines of metrics
  std::int64_t max_skipped = 10;    // steps in a row without a finite loss and gradient that end the run
  std::int64_t memory = 0;          // bytes that the process should stay within; larger batches are split. 0: no limit
  int gradient_bits = 32;           // of a gradient on its way between processes: 32, or 16 for bfloat16
  double subword_sampling = 0;    // see text::SubwordSampler; 0: the usual pieces. Whoever makes the corpus applies it
  std::int64_t stream_pairs = 0;  // pairs of a streamed corpus in memory at a time; 0: all
  std::vector<std::string> freeze;  // parameters that stay as they are, as patterns of names (optim::matches)
  std::string from;                 // the model whose weights the run started with; "": none
  bool profile = false;             // look where the time goes
};

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
  std::optional<autograd::Profile> profile;  // if it was asked for: of this call's steps, without the first of several
};

// Throws invalid_argument naming the option that cannot be: no limit set, or a number out of range.
void validate(const TrainOptions& options);

// What must be the same when a run continues, as JSON; and what the texts are.
std::string fixed_options(const TrainOptions& options);
std::string description(const CorpusSource& source, const Validator& validator);

// Trains `model` in options.directory, which must exist and be locked (lock_run); continues from the checkpoint there
// if there is one, or from the one before where it is damaged. With a limit in steps or epochs and validations by steps
// a run that was stopped, or killed, and continued gives bit for bit what an uninterrupted one gives on the same CPU, in
// any number of threads. Leaves checkpoint.safetensors and the one before, snapshot-STEP.safetensors, metrics.jsonl and
// model.safetensors (the best by validation loss, the mean of the last snapshots tried too). Throws bad_model for a
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
