#pragma once
// Small runs to test the trainer with: sequences of letters, a tokenizer of one piece a letter, tiny models, observers.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/random.h"
#include "data/pair.h"
#include "formats/model_file.h"
#include "nn/config.h"
#include "text/tokenizer.h"
#include "train/trainer.h"

namespace zhuyi::train {

inline constexpr std::int64_t kLetters = 10;

// "c a d": letters between spaces, of which each becomes one piece.
inline std::string spelled(const std::vector<std::int64_t>& letters) {
  std::string text;
  for (const std::int64_t letter : letters) {
    if (!text.empty()) text += ' ';
    text += static_cast<char>('a' + letter);
  }
  return text;
}

// `count` random sequences of `shortest` to `longest` letters; the target is the source, or the source backwards.
inline std::vector<data::SentencePair> letter_pairs(std::int64_t count, std::int64_t shortest, std::int64_t longest,
                                                    bool backwards, std::uint64_t seed) {
  base::Random random(seed);
  std::vector<data::SentencePair> pairs;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> letters(static_cast<std::size_t>(shortest + random.below(longest - shortest + 1)));
    for (std::int64_t& letter : letters) letter = random.below(kLetters);
    data::SentencePair pair;
    pair.source = spelled(letters);
    if (backwards) std::reverse(letters.begin(), letters.end());
    pair.target = spelled(letters);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

// A tokenizer in which every letter is one piece; those of different seeds have the same pieces, scored differently.
inline text::Tokenizer letter_tokenizer(std::uint64_t seed = 99) {
  std::vector<std::string> sentences;
  for (const data::SentencePair& pair : letter_pairs(200, 2, 8, false, seed)) sentences.push_back(pair.source);
  text::TokenizerTraining training;
  training.size = 2 * kLetters + 4;
  training.size_is_limit = true;
  training.byte_fallback = false;
  training.threads = 1;
  return text::Tokenizer(text::train_tokenizer(sentences, training));
}

inline nn::Config small_config(std::int64_t d_model, std::int64_t layers, double dropout = 0) {
  nn::Config config;
  config.d_model = d_model;
  config.d_ff = 2 * d_model;
  config.heads = d_model >= 64 ? 4 : 2;
  config.encoder_layers = layers;
  config.decoder_layers = layers;
  config.dropout = dropout;
  config.norm_placement = nn::NormPlacement::pre;
  return config;
}

inline formats::Model new_model(nn::Config config, const text::Tokenizer& tokenizer, std::uint64_t seed = 1) {
  config.source_vocabulary = tokenizer.size();
  config.target_vocabulary = tokenizer.size();
  return {std::make_unique<nn::Transformer>(config, tokenizer.bos(), seed), tokenizer, tokenizer, {}};
}

// Asks to stop before step `steps` + 1 of this call of train(); keeps what it hears.
class Listener : public Observer {
 public:
  explicit Listener(std::int64_t steps = -1) : left_(steps) {}

  void started(const StepReport& where) override { start = where; }
  void stepped(const StepReport& report) override { reports.push_back(report); }
  void validated(const StepReport& /*where*/, const Validation& result, bool best) override {
    validations.push_back(result);
    if (best) ++best_validations;
  }
  void averaged(std::int64_t snapshots, const Validation& result, bool best) override {
    averaged_snapshots = snapshots;
    average = result;
    average_is_best = best;
  }
  void recovered(const std::string& message) override { damage = message; }
  void skipped(const StepReport& /*where*/, const std::vector<std::int64_t>& lines, std::int64_t /*skipped*/) override {
    skipped_lines.push_back(lines);
  }
  bool stop_requested() override { return left_-- == 0; }

  StepReport start;
  std::vector<StepReport> reports;
  std::vector<Validation> validations;
  std::int64_t best_validations = 0;
  std::int64_t averaged_snapshots = 0;
  Validation average;
  bool average_is_best = false;
  std::string damage;
  std::vector<std::vector<std::int64_t>> skipped_lines;

 private:
  std::int64_t left_;
};

// The lines of a metrics file without what depends on the clock.
inline std::vector<nlohmann::json> metrics_of(const std::filesystem::path& path) {
  std::vector<nlohmann::json> lines;
  base::for_each_line(base::read_file(path), [&](std::string_view text) {
    nlohmann::json line = nlohmann::json::parse(text);
    line.erase("seconds");
    line.erase("target_tokens_per_second");
    lines.push_back(std::move(line));
  });
  return lines;
}

}  // namespace zhuyi::train
