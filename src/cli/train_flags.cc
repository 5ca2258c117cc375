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
  declare_texts(app, o.texts);
  app.add_option("--valid", o.valid, "pairs to validate on, none of them in training");
  app.add_option("-o,--output", o.training.directory, "directory of the run")->required();
  app.add_option("--tokenizer", o.tokenizer, "SentencePiece model for both sides, instead of one that is learned");
  app.add_option("--vocabulary", o.vocabulary, "pieces to learn, at most");
  app.add_option("--tokenizer-type", o.tokenizer_type, "kind of tokenizer to learn: unigram or bpe")
      ->check(CLI::IsMember({"unigram", "bpe"}));
  app.add_flag("--separate-tokenizers", o.separate, "one tokenizer a side; only the output projection is tied");
  app.add_flag("--new-vocabulary", o.new_vocabulary, "with --from: pieces learned anew; known ones keep their rows");
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

// What is no option of the run itself.
void declare_surroundings(CLI::App& app, TrainFlags& o) {
  app.add_option("--validate-translations", o.translate, "sentences translated for BLEU and chrF");
  app.add_flag("--tensorboard", o.tensorboard, "TensorBoard's event files in the run directory, too");
  app.add_option("--threads", o.threads, "threads of a process");
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

void declare_fields(CLI::App& app, train::TrainOptions& options) {
  train::for_each_field(options, [&]<class V>(const train::Field& field, V& value) {
    const std::string flag = std::string("--") + field.name;
    // Options that are no numbers: read from a word, shown as one.
    const auto add = [&](const auto& read, const auto& word) {
      app.add_option(
             flag,
             [&value, read](const CLI::results_t& words) {
               value = read(words.back());
               return true;
             },
             field.description, true, [&value, word] { return word(value); })
          ->type_name("TEXT");
    };
    if constexpr (train::Word<V>) {
      add([flag](const std::string& word) { return base::within(flag, [&] { return train::option_of<V>(word); }); },
          [](const V& v) { return train::word_of(v); });
    } else if constexpr (std::is_same_v<V, train::Bytes>) {
      add([](const std::string& word) { return train::Bytes{base::memory_of(word, "--memory")}; },
          [](const V& v) { return std::to_string(v.count); });
    } else if constexpr (std::is_same_v<V, bool>) {
      app.add_flag(flag, value, field.description);
    } else if constexpr (std::is_same_v<V, std::vector<std::string>>) {
      app.add_option(flag, value, field.description)->allow_extra_args(false)->default_str("");
    } else {
      CLI::Option* const option = app.add_option(flag, value, field.description);
      if (std::is_unsigned_v<V>) option->check(CLI::NonNegativeNumber);
    }
  });
}

void declare_train_flags(CLI::App& app, TrainFlags& flags) {
  flags.training.precision.reset();
  flags.training.schedule.kind = optim::ScheduleKind::linear;
  flags.training.schedule.peak = 2e-3;
  flags.training.schedule.warmup = 200;
  flags.training.batches.tokens = 1024;
  declare_data(app, flags);
  declare_fields(app, flags.training);
  declare_surroundings(app, flags);
  declare_model(app, flags);
}

void complete_train_flags(CLI::App& app, TrainFlags& o) {
  suit_size(app, o);
  check(!o.texts.train.empty(), "train: no text to learn from; name it with --train FILE.tsv");
  check(!o.valid.empty(), "train: no text to validate on; name it with --valid FILE.tsv");
  check(o.threads >= 1 && o.threads <= 1024, "--threads is {}, expected 1 to 1024", o.threads);
  train::TrainOptions& t = o.training;
  if (t.budget.minutes == 0 && t.budget.steps == 0 && t.budget.epochs == 0) t.budget.minutes = 15;
  t.batches.seed = t.seed;
  train::validate(t);
  check(o.texts.max_tokens >= 0 && o.translate >= 0,
        "--max-tokens is {} and --validate-translations {}, expected 0 or more", o.texts.max_tokens, o.translate);
  check(!o.new_vocabulary || !t.from.empty(), "--new-vocabulary is for a model that is started --from another");
  check(o.vocabulary >= 1, "--vocabulary is {}, expected 1 or more", o.vocabulary);
  configuration(o, o.vocabulary, o.vocabulary);
}

}  // namespace zhuyi::cli
