#include "cli/train_flags.h"

#include <fmt/ranges.h>

#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/memory_text.h"

namespace zhuyi::cli {
namespace {

using base::check;

// Text as the type of a configuration field; throws invalid_argument naming the option.
template <class V>
V parse(const std::string& name, const std::string& text) {
  if constexpr (std::is_enum_v<V>) {
    return base::within("--" + name, [&] { return nn::value_of<V>(text); });
  } else {
    V value{};
    check(CLI::detail::lexical_cast(text, value), "--{}: '{}' is not a value for it", name, text);
    return value;
  }
}

void declare_data(CLI::App& app, TrainFlags& o) {
  declare_texts(app, o.texts, o.training);
  app.add_option("--valid", o.valid, "pairs to validate on, none of them in training");
  app.add_option("-o,--output", o.training.directory, "directory of the run")->required();
  app.add_option("--from", o.training.from, "start with the weights, sizes and tokenizer of this model");
  app.add_option("--tokenizer", o.tokenizer, "SentencePiece model for both sides, instead of learning one");
  app.add_option("--vocabulary", o.vocabulary, "pieces to learn, at most");
  app.add_option("--tokenizer-type", o.tokenizer_type, "what to learn")->check(CLI::IsMember({"unigram", "bpe"}));
  app.add_flag("--separate-tokenizers", o.separate, "one tokenizer a side; ties the output projection only");
  app.add_flag("--new-vocabulary", o.new_vocabulary, "with --from: learn a vocabulary; known pieces keep their rows");
}

void declare_model(CLI::App& app, TrainFlags& o) {
  app.add_option("--preset", o.preset, "model size: " + fmt::format("{}", fmt::join(nn::preset_names(), ", ")));
  nn::Config standard = nn::preset(o.preset);
  nn::for_each_field(standard, [&](const char* name, const char* description, const auto& value) {
    const std::string key = name;
    if (key == "source-vocabulary" || key == "target-vocabulary") return;
    using V = std::remove_cvref_t<decltype(value)>;
    std::string shown;
    if constexpr (std::is_enum_v<V>) {
      shown = nn::word_of(value);
    } else {
      shown = fmt::format("{}", value);
    }
    app.add_option("--" + key, o.model[key], fmt::format("{} (preset {}: {})", description, o.preset, shown))
        ->group("Model (instead of the preset's value)");
  });
}

void declare_training(CLI::App& app, TrainFlags& o) {
  train::TrainOptions& t = o.training;
  app.add_option("--minutes", t.budget.minutes, "stop after so many minutes of training in all (0: no limit)");
  app.add_option("--steps", t.budget.steps, "stop after so many steps (0: no limit)");
  app.add_option("--epochs", t.budget.epochs, "stop after so many passes over the data (0: no limit)");
  app.add_option("--batch-tokens", t.batches.tokens, "source tokens and target tokens a batch, at most");
  app.add_option("--pool", t.batches.pool, "batches whose pairs are sorted by length together (1: lengths are mixed)");
  app.add_option("--accumulate", t.accumulate, "batches a step");
  app.add_option("--precision", o.precision, "of products: f32, bf16, or auto: bf16 where the CPU multiplies it")
      ->check(CLI::IsMember({"auto", "f32", "bf16"}));
  app.add_option("--schedule", o.schedule, "learning rate: paper, inverse-square-root, linear, cosine, constant");
  app.add_option("--learning-rate", t.schedule.peak, "its highest value (schedule paper: a factor)");
  app.add_option("--warmup", t.schedule.warmup, "steps until it is reached");
  app.add_option("--warmup-tokens", t.schedule.warmup_tokens, "target tokens until it is reached, instead of steps");
  app.add_option("--cooldown", t.schedule.cooldown, "share of the training over which schedule constant falls to 0");
  app.add_option("--clip", t.clip, "largest norm of the gradient of the mean token loss (0: no limit)");
  app.add_option("--optimizer", o.optimizer, "adam, or muon: orthogonal momentum on the matrices of the layers");
  app.add_option("--beta1", t.optimizer.adam.beta1, "Adam");
  app.add_option("--beta2", t.optimizer.adam.beta2, "Adam");
  app.add_option("--epsilon", t.optimizer.adam.epsilon, "Adam");
  app.add_option("--weight-decay", t.optimizer.adam.decay, "AdamW: share of the rate by which matrices shrink a step");
  app.add_option("--muon-momentum", t.optimizer.muon.momentum, "Muon");
  app.add_option("--ema", t.optimizer.average, "decay a step of a moving average of the weights, kept as the model");
  app.add_option("--freeze", t.freeze, "leave parameters as they are, such as 'encoder.*'; may be repeated")
      ->allow_extra_args(false)
      ->default_str("");
  app.add_option("--seed", t.seed, "of weights, order and dropout")->check(CLI::NonNegativeNumber);
  app.add_option("--validate-minutes", t.validate_minutes, "between validations; each saves a checkpoint");
  app.add_option("--validate-steps", t.validate_steps, "between validations, instead of the time");
  app.add_option("--validate-translations", o.translate, "sentences translated for BLEU and chrF");
  app.add_option("--metric", o.metric, "which model is the best: nll, bleu or chrf of the validation");
  app.add_option("--patience", t.patience, "validations without a better model that end the run (0: none do)");
  app.add_option("--keep", t.keep, "snapshots kept, whose mean is tried at the end");
  app.add_option("--keep-every", t.keep_every, "also keep a snapshot every so many steps (0: none)");
  app.add_option("--max-skipped", t.max_skipped, "end after so many steps in a row without a finite loss and gradient");
  app.add_option("--memory", o.memory, "split batches to stay within so much memory, such as 8G (0: no limit)");
  app.add_option("--gradient-bits", t.gradient_bits, "of gradients between processes: 32, or 16 (bfloat16)");
  app.add_option("--report-steps", t.report_steps, "steps between lines of metrics.jsonl");
  app.add_flag("--tensorboard", o.tensorboard, "also write TensorBoard's event files into the run directory");
  app.add_flag("--profile", t.profile, "show at the end where the time of the steps went");
  app.add_option("--threads", o.threads, "threads");
}

// The defaults suit short trainings of the small sizes (docs/training.md); the others take the paper's where nothing is
// given: section 5.3, whose rate has its peak of 7e-4 after 4,000 steps.
void suit_size(CLI::App& app, const TrainFlags& o) {
  if (o.preset == "tiny" || o.preset == "small") return;
  constexpr std::pair<const char*, const char*> kPaper[] = {{"--schedule", "inverse-square-root"},
                                                            {"--learning-rate", "7e-4"},
                                                            {"--warmup", "4000"},
                                                            {"--batch-tokens", "4096"}};
  for (const auto& [name, value] : kPaper) {
    CLI::Option* option = app.get_option(name);
    if (option->count() > 0) continue;
    option->add_result(value);
    option->run_callback();
  }
}

// The precision that the option's word stands for on this CPU.
kernels::Precision precision_of(const std::string& word) {
  using kernels::Precision;
  const bool available = kernels::has_precision(Precision::bf16);
  check(word != "bf16" || available, "--precision bf16: this CPU has no bf16 arithmetic; give f32 or auto");
  return word != "f32" && available ? Precision::bf16 : Precision::f32;
}

}  // namespace

void change(nn::Config& config, const TrainFlags& options) {
  nn::for_each_field(config, [&](const char* name, const char*, auto& value) {
    const auto given = options.model.find(name);
    if (given == options.model.end() || given->second.empty()) return;
    value = parse<std::remove_cvref_t<decltype(value)>>(name, given->second);
  });
}

nn::Config configuration(const TrainFlags& options, std::int64_t source_vocabulary, std::int64_t target_vocabulary) {
  nn::Config config = nn::preset(options.preset);
  if (options.separate) config.tying = nn::Tying::output;
  config.source_vocabulary = source_vocabulary;
  config.target_vocabulary = target_vocabulary;
  change(config, options);
  nn::validate(config);
  return config;
}

void declare_train_flags(CLI::App& app, TrainFlags& flags) {
  flags.training.schedule.peak = 2e-3;
  flags.training.schedule.warmup = 200;
  flags.training.batches.tokens = 1024;
  declare_data(app, flags);
  declare_training(app, flags);
  declare_model(app, flags);
}

void complete_train_flags(CLI::App& app, TrainFlags& o) {
  suit_size(app, o);
  check(!o.texts.train.empty(), "train: no text to learn from; name it with --train FILE.tsv");
  check(!o.valid.empty(), "train: no text to validate on; name it with --valid FILE.tsv");
  check(o.threads >= 1 && o.threads <= 1024, "--threads is {}, expected 1 to 1024", o.threads);
  train::TrainOptions& t = o.training;
  t.schedule.kind = optim::schedule_of(o.schedule);
  t.optimizer.kind = optim::optimizer_of(o.optimizer);
  t.metric = train::metric_of(o.metric);
  t.precision = precision_of(o.precision);
  t.batches.unit = data::batch_unit_of(o.texts.batch_by);
  if (t.budget.minutes == 0 && t.budget.steps == 0 && t.budget.epochs == 0) t.budget.minutes = 15;
  t.batches.seed = t.seed;
  t.memory = base::memory_of(o.memory, "--memory");
  train::validate(t);
  check(o.texts.max_tokens >= 0 && o.translate >= 0,
        "--max-tokens is {} and --validate-translations {}, expected 0 or more", o.texts.max_tokens, o.translate);
  check(!o.new_vocabulary || !t.from.empty(), "--new-vocabulary is for a model that is started --from another");
  check(o.vocabulary >= 1, "--vocabulary is {}, expected 1 or more", o.vocabulary);
  configuration(o, o.vocabulary, o.vocabulary);
}

}  // namespace zhuyi::cli
