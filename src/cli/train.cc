// zhuyi train: from a corpus to a model, in a run directory that can be stopped and continued.

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/parallel.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/saved_options.h"
#include "cli/training_observer.h"
#include "data/pairs.h"
#include "nn/config.h"
#include "text/tokenizer.h"
#include "train/trainer.h"

namespace zhuyi::cli {
namespace {

using base::check;
using base::ErrorKind;
namespace fs = std::filesystem;

struct Options {
  std::string train;
  std::string valid;
  std::string preset = "small";
  std::string tokenizer;
  std::string tokenizer_type = "unigram";
  std::int64_t vocabulary = 8000;
  bool separate = false;
  std::int64_t max_tokens = 200;
  std::int64_t translate = 200;
  std::string schedule = "inverse-square-root";
  std::string optimizer = "adam";
  std::string metric = "nll";
  std::string precision = "auto";
  int threads = base::threads();
  std::map<std::string, std::string> model;  // fields of nn::Config that were given
  train::TrainOptions training;
};

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

// The preset with the fields that were given, for vocabularies of these sizes.
nn::Config configuration(const Options& options, std::int64_t source_vocabulary, std::int64_t target_vocabulary) {
  nn::Config config = nn::preset(options.preset);
  if (options.separate) config.tying = nn::Tying::output;
  config.source_vocabulary = source_vocabulary;
  config.target_vocabulary = target_vocabulary;
  nn::for_each_field(config, [&](const char* name, const char*, auto& value) {
    const auto given = options.model.find(name);
    if (given == options.model.end() || given->second.empty()) return;
    value = parse<std::remove_cvref_t<decltype(value)>>(name, given->second);
  });
  nn::validate(config);
  return config;
}

struct Tokenizers {
  text::Tokenizer source;
  text::Tokenizer target;
};

// Reads the tokenizer at `path`, or learns it from `sentences` and keeps it there.
text::Tokenizer learn(const fs::path& path, const std::vector<std::string>& sentences, const Options& options) {
  if (fs::exists(path)) {
    text::Tokenizer kept = text::Tokenizer::load(path);
    base::check_kind(kept.size() <= options.vocabulary, ErrorKind::bad_model,
                     "{} has {} pieces, --vocabulary asks for {} at most; give as many, or another directory",
                     path.string(), kept.size(), options.vocabulary);
    return kept;
  }
  text::TokenizerTraining training;
  training.type = options.tokenizer_type == "bpe" ? text::TokenizerType::bpe : text::TokenizerType::unigram;
  training.size = options.vocabulary;
  training.size_is_limit = true;
  std::cerr << fmt::format("learning a tokenizer from {} sentences\n", sentences.size());
  text::Tokenizer tokenizer(text::train_tokenizer(sentences, training));
  base::write_file(path, tokenizer.serialized());
  return tokenizer;
}

Tokenizers tokenizers(const Options& options, const std::vector<data::SentencePair>& pairs) {
  if (!options.tokenizer.empty()) {
    const text::Tokenizer given = text::Tokenizer::load(options.tokenizer);
    return {given, given};
  }
  std::vector<std::string> source;
  std::vector<std::string> target;
  for (const data::SentencePair& pair : pairs) {
    source.push_back(pair.source);
    (options.separate ? target : source).push_back(pair.target);
  }
  const fs::path& directory = options.training.directory;
  if (!options.separate) {
    const text::Tokenizer joint = learn(directory / "tokenizer.model", source, options);
    return {joint, joint};
  }
  return {learn(directory / "tokenizer.source.model", source, options),
          learn(directory / "tokenizer.target.model", target, options)};
}

void declare_data(CLI::App& app, Options& o) {
  app.add_option("--train", o.train, "training pairs: TSV of `zhuyi corpus`");
  app.add_option("--valid", o.valid, "pairs to validate on, none of them in training");
  app.add_option("-o,--output", o.training.directory, "directory of the run")->required();
  app.add_option("--tokenizer", o.tokenizer, "SentencePiece model for both sides, instead of learning one");
  app.add_option("--vocabulary", o.vocabulary, "pieces to learn, at most");
  app.add_option("--tokenizer-type", o.tokenizer_type, "what to learn")->check(CLI::IsMember({"unigram", "bpe"}));
  app.add_flag("--separate-tokenizers", o.separate, "one tokenizer a side; ties the output projection only");
  app.add_option("--max-tokens", o.max_tokens, "leave out pairs with more tokens on a side (0: none)");
}

void declare_model(CLI::App& app, Options& o) {
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

void declare_training(CLI::App& app, Options& o) {
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
  app.add_option("--cooldown", t.schedule.cooldown, "share of the training over which schedule constant falls to 0");
  app.add_option("--clip", t.clip, "largest norm of the gradient of the mean token loss (0: no limit)");
  app.add_option("--optimizer", o.optimizer, "adam, or muon: orthogonal momentum on the matrices of the layers");
  app.add_option("--beta1", t.optimizer.adam.beta1, "Adam");
  app.add_option("--beta2", t.optimizer.adam.beta2, "Adam");
  app.add_option("--epsilon", t.optimizer.adam.epsilon, "Adam");
  app.add_option("--weight-decay", t.optimizer.adam.decay, "AdamW: share of the rate by which matrices shrink a step");
  app.add_option("--muon-momentum", t.optimizer.muon.momentum, "Muon");
  app.add_option("--ema", t.optimizer.average, "decay a step of a moving average of the weights, kept as the model");
  app.add_option("--seed", t.seed, "of weights, order and dropout")->check(CLI::NonNegativeNumber);
  app.add_option("--validate-minutes", t.validate_minutes, "between validations; each saves a checkpoint");
  app.add_option("--validate-steps", t.validate_steps, "between validations, instead of the time");
  app.add_option("--validate-translations", o.translate, "sentences translated for BLEU and chrF");
  app.add_option("--metric", o.metric, "which model is the best: nll, bleu or chrf of the validation");
  app.add_option("--patience", t.patience, "validations without a better model that end the run (0: none do)");
  app.add_option("--keep", t.keep, "snapshots kept, whose mean is tried at the end");
  app.add_option("--report-steps", t.report_steps, "steps between lines of metrics.jsonl");
  app.add_option("--threads", o.threads, "threads");
}

// The precision that the option's word stands for on this CPU.
kernels::Precision precision_of(const std::string& word) {
  using kernels::Precision;
  const bool available = kernels::has_precision(Precision::bf16);
  check(word != "bf16" || available, "--precision bf16: this CPU has no bf16 arithmetic; give f32 or auto");
  return word != "f32" && available ? Precision::bf16 : Precision::f32;
}

void run(CLI::App& app, Options& o) {
  const fs::path directory = o.training.directory;
  restore_options(app, directory / "config.toml");
  check(!o.train.empty(), "train: no text to learn from; name it with --train FILE.tsv");
  check(!o.valid.empty(), "train: no text to validate on; name it with --valid FILE.tsv");
  check(o.threads >= 1 && o.threads <= 1024, "--threads is {}, expected 1 to 1024", o.threads);
  train::TrainOptions& t = o.training;
  t.schedule.kind = optim::schedule_of(o.schedule);
  t.optimizer.kind = optim::optimizer_of(o.optimizer);
  t.metric = train::metric_of(o.metric);
  t.precision = precision_of(o.precision);
  if (t.budget.minutes == 0 && t.budget.steps == 0 && t.budget.epochs == 0) t.budget.minutes = 15;
  t.batches.seed = t.seed;
  train::validate(t);
  check(o.max_tokens >= 0 && o.translate >= 0, "--max-tokens is {} and --validate-translations {}, expected 0 or more",
        o.max_tokens, o.translate);
  check(o.vocabulary >= 1, "--vocabulary is {}, expected 1 or more", o.vocabulary);
  configuration(o, o.vocabulary, o.vocabulary);  // what cannot be is said before any work is done
  const std::vector<data::SentencePair> pairs = data::read_tsv(o.train);
  std::vector<data::SentencePair> valid = data::read_tsv(o.valid);
  base::create_directories(directory);
  base::set_threads(o.threads);
  catch_interrupts();

  const Tokenizers pieces = tokenizers(o, pairs);
  const nn::Config config = configuration(o, pieces.source.size(), pieces.target.size());
  t.schedule.d_model = config.d_model;
  formats::Model model{
      std::make_unique<nn::Transformer>(config, pieces.target.bos(), t.seed), pieces.source, pieces.target, {}};
  const train::EncodedCorpus corpus(pairs, model.source, model.target, o.max_tokens);
  const train::Validator validator(std::move(valid), model.source, model.target, o.translate);
  std::cerr << fmt::format(
      "{} pairs, {} target tokens an epoch ({} pairs left out as longer than {} tokens); {} parameters; products in "
      "{}; "
      "validation on {} pairs\n",
      corpus.size(), corpus.target_tokens(), corpus.left_out(), o.max_tokens, model.transformer->parameters().count(),
      t.precision == kernels::Precision::bf16 ? "bf16" : "f32", validator.size());
  TrainingObserver observer(::isatty(STDERR_FILENO) != 0, [&] { save_options(app, directory / "config.toml"); });
  const train::TrainResult result = train::train(model, corpus, validator, t, observer);
  observer.finish();
  const std::string file = (directory / "model.safetensors").string();
  if (result.interrupted) {
    base::fail(ErrorKind::interrupted,
               "stopped at step {}, nothing is lost; {} can be used. To continue: zhuyi train -o {}", result.steps,
               file, directory.string());
  }
  std::cerr << fmt::format("done after {} steps{}: validation nll {:.4f}\n", result.steps,
                           result.out_of_patience ? ", as nothing got better" : "", result.best.nll);
  std::cout << file << "\n";
}

}  // namespace

Action train_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->training.schedule.peak = 1e-3;
  options->training.schedule.warmup = 400;
  declare_data(app, *options);
  declare_training(app, *options);
  declare_model(app, *options);
  return [options, &app] { run(app, *options); };
}

}  // namespace zhuyi::cli
