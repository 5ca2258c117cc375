#pragma once
// The options of zhuyi train: their declaration and what follows from them.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "base/parallel.h"
#include "cli/training_text.h"
#include "nn/config.h"
#include "train/trainer.h"

namespace zhuyi::cli {

struct TrainFlags {
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
  int threads = base::threads();
  std::map<std::string, std::string> model;  // fields of nn::Config that were given
  train::TrainOptions training;
};

// Adds the options of a run (train/options.h) to the command.
void declare_fields(CLI::App& app, train::TrainOptions& options);

// Declares them on the command; `flags` must outlive it.
void declare_train_flags(CLI::App& app, TrainFlags& flags);

// After parsing: fills in what follows from the words that were given, and checks what can be checked before any work
// is done. Throws invalid_argument.
void complete_train_flags(CLI::App& app, TrainFlags& flags);

// Sets the fields of a configuration that were given. Throws invalid_argument, naming the option.
void change(nn::Config& config, const TrainFlags& flags);

// The preset with the fields that were given, for vocabularies of these sizes. Throws invalid_argument.
nn::Config configuration(const TrainFlags& flags, std::int64_t source_vocabulary, std::int64_t target_vocabulary);

}  // namespace zhuyi::cli
