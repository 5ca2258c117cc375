#pragma once
// The options of a run as one list of fields, from which flags, help, saved options, checks and fingerprint come.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "data/batcher.h"
#include "kernels/gemm.h"
#include "optim/optimizers.h"
#include "optim/schedule.h"
#include "train/metric.h"

namespace zhuyi::train {

// How long to train: until the first limit that is set is reached. 0: no such limit.
struct Budget {
  double minutes = 0;  // of training in all, earlier runs of the same directory counted in
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
};

// A size of memory; on the command line "8G" or "700M".
struct Bytes {
  std::int64_t count = 0;
};

struct TrainOptions {
  std::filesystem::path directory;  // of the run: checkpoint, metrics, model
  std::string from;                 // the model whose weights the run started with; "": none
  Budget budget;
  data::BatcherOptions batches;
  std::int64_t stream_pairs = 0;  // pairs of a streamed corpus in memory at a time; 0: all
  double subword_sampling = 0;    // see text::SubwordSampler; 0: the usual pieces. Whoever makes the corpus applies it
  std::int64_t accumulate = 1;    // batches whose gradients make one step
  // Of the products; weights, sums and the optimizer are f32. Nothing: bf16 where every process multiplies it, f32
  // elsewhere, decided when the run begins.
  std::optional<kernels::Precision> precision = kernels::Precision::f32;
  optim::Schedule schedule;
  double clip = 1;  // largest norm of the gradient of the mean token loss; 0: no limit
  optim::OptimizerOptions optimizer;
  std::vector<std::string> freeze;  // parameters that stay as they are, as patterns of names (optim::matches)
  std::uint64_t seed = 1;
  double validate_minutes = 2;      // time between validations; each saves a checkpoint
  std::int64_t validate_steps = 0;  // steps between validations, instead of the time
  Metric metric = Metric::nll;      // says which model is the best
  std::int64_t patience = 0;        // validations in a row without a better model that end the run; 0: none do
  std::int64_t keep = 4;            // snapshots kept, whose mean is tried at the end
  std::int64_t keep_every = 0;      // steps between snapshots that stay; 0: none
  std::int64_t max_skipped = 10;    // steps in a row without a finite loss and gradient that end the run
  Bytes memory;                     // that the process should stay within; larger batches are split. 0: no limit
  int gradient_bits = 32;           // of a gradient on its way between processes: 32, or 16 for bfloat16
  std::int64_t report_steps = 10;   // steps between lines of metrics
  bool profile = false;             // look where the time goes
};

// What a field may do when a run is continued.
enum class Change {
  fixed,  // stay as it is: it decides over the bits of the run, and is part of its fingerprint
  free,   // be another; the last value is remembered
  once,   // be another; it is of one call and not remembered
};

// The numbers that a field may be: at least `least`, at most (or, when it is open, less than) `most`.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool open = false;
};
inline constexpr Range kAtLeast0 = {.least = 0};
inline constexpr Range kAtLeast1 = {.least = 1};
inline constexpr Range kShare = {.least = 0, .most = 1};
inline constexpr Range kDecay = {.least = 0, .most = 1, .open = true};

struct Field {
  const char* name;         // of the flag, and in the fingerprint and the saved options
  const char* description;  // a noun phrase, with its unit
  Change change = Change::fixed;
  Range range = {};
};

// How long a run is, and what its batches hold.
template <class Options, class Visit>
void for_each_text_field(Options& o, Visit& visit) {
  using enum Change;
  visit(Field{"from", "model whose weights, sizes and tokenizer the run starts with"}, o.from);
  visit(Field{"minutes", "minutes of training in all, after which it ends (0: no limit)", free, kAtLeast0},
        o.budget.minutes);
  visit(Field{"steps", "steps after which it ends (0: no limit)", free, kAtLeast0}, o.budget.steps);
  visit(Field{"epochs", "passes over the data after which it ends (0: no limit)", free, kAtLeast0}, o.budget.epochs);
  visit(Field{"stream-pairs", "pairs in memory at a time, the others are read from disk (0: all)", fixed, kAtLeast0},
        o.stream_pairs);
  visit(Field{"batch-tokens", "source tokens and target tokens of a batch, at most", fixed, kAtLeast1},
        o.batches.tokens);
  visit(Field{"batch-by", "what --batch-tokens counts: each-side, target, sum or sentences"}, o.batches.unit);
  visit(Field{"pool", "batches whose pairs are sorted by length together (1: lengths are mixed)", fixed, kAtLeast1},
        o.batches.pool);
  visit(Field{"subword-sampling",
              "noise in the cutting of words: exponent for unigram pieces, dropout for BPE (0: the usual pieces)",
              fixed, kAtLeast0},
        o.subword_sampling);
  visit(Field{"accumulate", "batches of a step", fixed, kAtLeast1}, o.accumulate);
  visit(Field{"precision",
              "numbers of products: f32, bf16, or auto (bf16 where the CPU multiplies it), decided once a run"},
        o.precision);
}

// How a step moves the weights.
template <class Options, class Visit>
void for_each_step_field(Options& o, Visit& visit) {
  using enum Change;
  visit(Field{"schedule", "course of the learning rate: paper, inverse-square-root, linear, cosine, constant"},
        o.schedule.kind);
  visit(Field{"learning-rate", "highest learning rate (schedule paper: a factor)", fixed, kAtLeast0}, o.schedule.peak);
  visit(Field{"warmup", "steps until the learning rate is at its highest", fixed, kAtLeast1}, o.schedule.warmup);
  visit(Field{"warmup-tokens", "target tokens until it is, instead of steps", fixed, kAtLeast0},
        o.schedule.warmup_tokens);
  visit(Field{"cooldown", "share of the training over which schedule constant falls to 0", fixed, kShare},
        o.schedule.cooldown);
  visit(Field{"clip", "largest norm of the gradient of the mean token loss (0: no limit)", fixed, kAtLeast0}, o.clip);
  visit(Field{"optimizer", "rule of a step: adam, or muon (orthogonal momentum on the matrices of the layers)"},
        o.optimizer.kind);
  visit(Field{"beta1", "decay a step of Adam's mean of gradients", fixed, kDecay}, o.optimizer.adam.beta1);
  visit(Field{"beta2", "decay a step of Adam's mean of squared gradients", fixed, kDecay}, o.optimizer.adam.beta2);
  visit(Field{"epsilon", "number that Adam adds to the root of that mean", fixed, kAtLeast0}, o.optimizer.adam.epsilon);
  visit(Field{"weight-decay", "share of the rate by which matrices shrink a step (AdamW)", fixed, kAtLeast0},
        o.optimizer.adam.decay);
  visit(Field{"muon-momentum", "decay a step of Muon's momentum", fixed, kDecay}, o.optimizer.muon.momentum);
  visit(Field{"ema", "decay a step of a moving average of the weights, kept as the model (0: none)", fixed, kDecay},
        o.optimizer.average);
  visit(Field{"freeze", "parameters left as they are, such as 'encoder.*'; may be repeated"}, o.freeze);
  visit(Field{"seed", "seed of weights, order and dropout"}, o.seed);
}

// What is looked at, kept and told.
template <class Options, class Visit>
void for_each_keeping_field(Options& o, Visit& visit) {
  using enum Change;
  visit(Field{"validate-minutes", "minutes between validations; each saves a checkpoint", free, kAtLeast0},
        o.validate_minutes);
  visit(Field{"validate-steps", "steps between validations, instead of the time (0: by the time)", free, kAtLeast0},
        o.validate_steps);
  visit(Field{"metric", "figure that says which model is the best: nll, bleu or chrf of the validation", free},
        o.metric);
  visit(Field{"patience", "validations without a better model that end the run (0: none do)", free, kAtLeast0},
        o.patience);
  visit(Field{"keep", "snapshots kept, whose mean is tried at the end", free, kAtLeast0}, o.keep);
  visit(Field{"keep-every", "steps between snapshots that stay (0: none)", free, kAtLeast0}, o.keep_every);
  visit(Field{"max-skipped", "steps in a row without a finite loss and gradient that end the run", free, kAtLeast1},
        o.max_skipped);
  visit(Field{"memory", "memory that batches are split to stay within, such as 8G (0: no limit)"}, o.memory);
  visit(Field{"gradient-bits", "bits of gradients between processes: 32, or 16 (bfloat16)", free}, o.gradient_bits);
  visit(Field{"report-steps", "steps between lines of metrics.jsonl", free, kAtLeast1}, o.report_steps);
  visit(Field{"profile", "times of the steps by operation, shown at the end", once}, o.profile);
}

// Calls visit(field, reference to its value) for every option, in the order of the help. Not in the list are the
// directory, which is where and not how, and what follows from others (the batches' seed, the schedule's d_model).
template <class Options, class Visit>
void for_each_field(Options& options, Visit&& visit) {
  for_each_text_field(options, visit);
  for_each_step_field(options, visit);
  for_each_keeping_field(options, visit);
}

// The word of an option that is one of several, and the option of a word (throws invalid_argument listing the words).
// A precision without a value is "auto".
std::string word_of(data::BatchUnit unit);
std::string word_of(optim::ScheduleKind kind);
std::string word_of(optim::OptimizerKind kind);
std::string word_of(Metric metric);
std::string word_of(const std::optional<kernels::Precision>& precision);
template <class V>
V option_of(const std::string& word);

// Whether V is such an option.
template <class V>
concept Word = requires(const V& value) {
  word_of(value);
};

// Throws invalid_argument naming the option that cannot be: no limit set, a number out of range, a precision that this
// CPU has no arithmetic for.
void validate(const TrainOptions& options);

// The fixed fields as JSON, the fingerprint of a run; without the precision while it is not decided.
std::string fixed_options(const TrainOptions& options);

// How the options of a run, as its checkpoint has them, differ from these: "" when it may be continued with them. What
// an older checkpoint does not have (precision, memory) and a precision that is not decided differ from nothing.
std::string option_differences(const std::string& saved, const TrainOptions& options);

// The precision in the saved options of a run; nothing for an older one.
std::optional<kernels::Precision> saved_precision(const std::string& saved);

}  // namespace zhuyi::train
