// zhuyi train: from a corpus to a model, in a run directory that can be stopped and continued.

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/parallel.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/saved_options.h"
#include "cli/starting_model.h"
#include "cli/training_observer.h"
#include "cli/training_text.h"
#include "data/pairs.h"
#include "nn/config.h"
#include "text/tokenizer.h"
#include "train/initialise.h"
#include "train/profile_table.h"
#include "train/run_directory.h"
#include "train/trainer.h"

namespace zhuyi::cli {
namespace {

using base::check;
using base::ErrorKind;
namespace fs = std::filesystem;

struct Options {
  TextOptions texts;
  std::string valid;
  std::string preset = "small";
  std::string tokenizer;
  std::string tokenizer_type = "unigram";
  std::int64_t vocabulary = 8000;
  bool separate = false;
  bool new_vocabulary = false;
  bool tensorboard = false;
  std::int64_t translate = 200;
  std::string schedule = "linear";
  std::string optimizer = "adam";
  std::string metric = "nll";
  std::string precision = "auto";
  std::string memory = "0";
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

// Sets the fields that were given.
void change(nn::Config& config, const Options& options) {
  nn::for_each_field(config, [&](const char* name, const char*, auto& value) {
    const auto given = options.model.find(name);
    if (given == options.model.end() || given->second.empty()) return;
    value = parse<std::remove_cvref_t<decltype(value)>>(name, given->second);
  });
}

// The preset with the fields that were given, for vocabularies of these sizes.
nn::Config configuration(const Options& options, std::int64_t source_vocabulary, std::int64_t target_vocabulary) {
  nn::Config config = nn::preset(options.preset);
  if (options.separate) config.tying = nn::Tying::output;
  config.source_vocabulary = source_vocabulary;
  config.target_vocabulary = target_vocabulary;
  change(config, options);
  nn::validate(config);
  return config;
}

// "4G", "512M", "100000K" or bytes, as bytes.
std::int64_t bytes_of(const std::string& text) {
  const std::string_view units = "KMG";
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  const std::size_t unit = rest == end ? std::string_view::npos : units.find(*rest);
  const std::size_t shift = unit == std::string_view::npos ? 0 : 10 * (unit + 1);
  const bool whole = rest == end || (unit != std::string_view::npos && rest + 1 == end);
  check(code == std::errc() && whole && number >= 0 && number < (std::int64_t{1} << 32),
        "--memory is '{}', expected a size such as 8G or 700M (0: no limit)", text);
  return number << shift;
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
void suit_size(CLI::App& app, const Options& o) {
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

// Completes the options and checks what can be checked before any work is done.
void prepare(Options& o) {
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
  t.memory = bytes_of(o.memory);
  train::validate(t);
  check(o.texts.max_tokens >= 0 && o.translate >= 0,
        "--max-tokens is {} and --validate-translations {}, expected 0 or more", o.texts.max_tokens, o.translate);
  check(!o.new_vocabulary || !t.from.empty(), "--new-vocabulary is for a model that is started --from another");
  check(o.vocabulary >= 1, "--vocabulary is {}, expected 1 or more", o.vocabulary);
  configuration(o, o.vocabulary, o.vocabulary);
}

// The model with other pieces, unless it has these already; rows of pieces that both have stay.
formats::Model with_vocabulary(formats::Model known, const Tokenizers& pieces, const Options& o) {
  if (known.source.serialized() == pieces.source.serialized() &&
      known.target.serialized() == pieces.target.serialized()) {
    return known;
  }
  nn::Config config = known.transformer->config();
  config.source_vocabulary = pieces.source.size();
  config.target_vocabulary = pieces.target.size();
  if (o.separate && config.tying == nn::Tying::all) config.tying = nn::Tying::output;
  nn::validate(config);
  formats::Model model{std::make_unique<nn::Transformer>(config, pieces.target.bos(), o.training.seed), pieces.source,
                       pieces.target, known.provenance};
  const train::Initialised result = train::initialise_from(known, model);
  std::cerr << fmt::format("{} pieces are known to {} and keep their rows, {} are new\n", result.shared_rows,
                           o.training.from, result.new_rows);
  return model;
}

// A new model, or that of --from.
formats::Model make_model(const Options& o, const std::vector<data::SentencePair>& pairs) {
  if (!o.training.from.empty()) {
    formats::Model model =
        starting_model(o.training.from, o.training.directory, [&](nn::Config& config) { change(config, o); });
    if (!o.new_vocabulary && o.tokenizer.empty()) return model;
    return with_vocabulary(std::move(model), tokenizers(o, pairs), o);
  }
  const Tokenizers pieces = tokenizers(o, pairs);
  const nn::Config config = configuration(o, pieces.source.size(), pieces.target.size());
  return {std::make_unique<nn::Transformer>(config, pieces.target.bos(), o.training.seed),
          pieces.source,
          pieces.target,
          {}};
}

// What process 0 made from files of the run directory, for all: sizes and tokenizers. Weights follow when all agree.
formats::Model share(train::Communicator& processes, std::optional<formats::Model> model) {
  const bool first = processes.rank() == 0;
  const std::string config = broadcast(processes, first ? nn::to_json(model->transformer->config()).dump() : "");
  const std::string source = broadcast(processes, first ? model->source.serialized() : "");
  const std::string target = broadcast(processes, first ? model->target.serialized() : "");
  const std::string bos = broadcast(processes, first ? std::to_string(model->transformer->bos()) : "");
  if (first) return *std::move(model);
  return {std::make_unique<nn::Transformer>(nn::config_from_json(nlohmann::json::parse(config)), std::stoi(bos), 0),
          text::Tokenizer(source),
          text::Tokenizer(target),
          {}};
}

// One of the processes that train, process 0 of them with a directory and a voice.
void run(CLI::App& app, Options& o, train::Communicator& processes) {
  const bool first = processes.rank() == 0;
  const int most_threads = std::max(1, base::threads() / static_cast<int>(processes.local_size()));
  const fs::path directory = o.training.directory;
  const fs::path config = directory / "config.toml";
  const bool known = first && fs::exists(config);
  restore_options(app, train::broadcast(processes, known ? base::read_file(config) : ""), config);
  suit_size(app, o);
  prepare(o);
  train::TrainOptions& t = o.training;
  TrainingText text(o.texts, t);
  std::vector<data::SentencePair> valid = data::read_tsv(o.valid);
  std::unique_ptr<base::FileLock> lock;
  if (first) {
    base::create_directories(directory);
    lock = train::lock_run(directory);
  }
  base::set_threads(processes.local_size() > 1 ? std::min(o.threads, most_threads) : o.threads);
  catch_interrupts();

  formats::Model model = share(processes, first ? std::optional(make_model(o, text.pairs())) : std::nullopt);
  t.schedule.d_model = model.transformer->config().d_model;
  const std::unique_ptr<train::CorpusSource> source = text.encode(model);
  const train::Validator validator(std::move(valid), model.source, model.target, o.translate);
  if (!first) {
    SilentObserver observer;
    train::train(model, *source, validator, t, observer, processes);
    return;
  }
  std::cerr << fmt::format("{}; {} parameters; products in {}; validation on {} pairs{}\n", text.summary(),
                           model.transformer->parameters().count(),
                           t.precision == kernels::Precision::bf16 ? "bf16" : "f32", validator.size(),
                           processes.size() > 1 ? fmt::format("; {} processes", processes.size()) : "");
  TrainingObserver observer(::isatty(STDERR_FILENO) != 0, [&] { save_options(app, config); });
  const train::RegisterPeaks peaks = t.profile ? train::measure_peaks(t.precision) : train::RegisterPeaks{};
  if (o.tensorboard) observer.add(TensorBoard(directory));
  const train::TrainResult result = train::train(model, *source, validator, t, observer, processes);
  observer.finish();
  if (result.profile) std::cerr << profile_table(*result.profile, peaks);
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

// Says why this process cannot go on, and ends them all.
void give_up(train::Communicator& processes, const std::string& message, int code) {
  // What stops all of them is said once: process 0 ends the others while they wait.
  if (processes.rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
  std::cout.flush();
  std::cerr << fmt::format("zhuyi: process {} of {}: {}\n", processes.rank(), processes.size(), message) << std::flush;
  processes.abort(code);
}

void run_together(CLI::App& app, Options& o) {
  const std::unique_ptr<train::Communicator> processes = train::connect();
  if (processes->size() == 1) return run(app, o, *processes);
  try {
    run(app, o, *processes);
  } catch (const base::Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;  // all of them have stopped
    give_up(*processes, error.message(), exit_code(error.kind()));
  } catch (const std::exception& error) {
    give_up(*processes, error.what(), kSystem);
  }
}

}  // namespace

Action train_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->training.schedule.peak = 2e-3;
  options->training.schedule.warmup = 200;
  options->training.batches.tokens = 1024;
  declare_data(app, *options);
  declare_training(app, *options);
  declare_model(app, *options);
  return [options, &app] { run_together(app, *options); };
}

}  // namespace zhuyi::cli
