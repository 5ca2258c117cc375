// zhuyi train: from a corpus to a model, in a run directory that can be stopped and continued.

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
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
#include "cli/train_flags.h"
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

using base::ErrorKind;
namespace fs = std::filesystem;

struct Tokenizers {
  text::Tokenizer source;
  text::Tokenizer target;
};

// Reads the tokenizer at `path`, or learns it from `sentences` and keeps it there.
text::Tokenizer learn(const fs::path& path, const std::vector<std::string>& sentences, const TrainFlags& options) {
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

Tokenizers tokenizers(const TrainFlags& options, const std::vector<data::SentencePair>& pairs) {
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

// The model with other pieces, unless it has these already; rows of pieces that both have stay.
formats::Model with_vocabulary(formats::Model known, const Tokenizers& pieces, const TrainFlags& o) {
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
                       pieces.target, known.provenance, known.source_scripts};
  const train::Initialised result = train::initialise_from(known, model);
  std::cerr << fmt::format("{} pieces are known to {} and keep their rows, {} are new\n", result.shared_rows,
                           o.training.from, result.new_rows);
  return model;
}

// A new model, or that of --from.
formats::Model make_model(const TrainFlags& o, const std::vector<data::SentencePair>& pairs) {
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
void run(CLI::App& app, TrainFlags& o, train::Communicator& processes) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // here large tensors come and go: they keep their pages
  const bool first = processes.rank() == 0;
  const int most_threads = std::max(1, base::threads() / static_cast<int>(processes.local_size()));
  const fs::path directory = o.training.directory;
  const fs::path config = directory / "config.toml";
  const bool known = first && fs::exists(config);
  restore_options(app, train::broadcast(processes, known ? base::read_file(config) : ""), config);
  complete_train_flags(app, o);
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
  if (first) note_scripts(model, text.pairs(), !t.from.empty());
  t.schedule.d_model = model.transformer->config().d_model;
  const std::unique_ptr<train::CorpusSource> source = text.encode(model);
  const train::Validator validator(std::move(valid), model.source, model.target, o.translate);
  if (!first) {
    SilentObserver observer;
    train::train(model, *source, validator, t, observer, processes);
    return;
  }
  const std::string summary = fmt::format("{}; {} parameters; validation on {} pairs{}", text.summary(),
                                          model.transformer->parameters().count(), validator.size(),
                                          processes.size() > 1 ? fmt::format("; {} processes", processes.size()) : "");
  TrainingObserver observer(::isatty(STDERR_FILENO) != 0, summary, [&] { save_options(app, config); });
  if (o.tensorboard) observer.add(TensorBoard(directory));
  const train::TrainResult result = train::train(model, *source, validator, t, observer, processes);
  observer.finish();
  if (result.profile) std::cerr << profile_table(*result.profile, train::measure_peaks(result.precision));
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

void run_together(CLI::App& app, TrainFlags& o) {
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
  auto options = std::make_shared<TrainFlags>();
  declare_train_flags(app, *options);
  return [options, &app] { run_together(app, *options); };
}

}  // namespace zhuyi::cli
