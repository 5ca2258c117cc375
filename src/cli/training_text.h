#pragma once
// The texts of a training run: which files, with which weights, in memory or streamed.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "data/shuffled_text.h"
#include "formats/model_file.h"
#include "train/corpus_source.h"
#include "train/trainer.h"

namespace zhuyi::cli {

struct TextOptions {
  std::vector<std::string> train;  // "FILE" or "FILE:WEIGHT"
  std::int64_t max_tokens = 200;
};

// Adds the scripts of the sources to the model's, except for a model that has started from one whose scripts are not
// known.
void note_scripts(formats::Model& model, const std::vector<data::SentencePair>& pairs, bool started_from_another);

// Adds --train and --max-tokens.
void declare_texts(CLI::App& app, TextOptions& texts);

// The training pairs as they are read: all of them, or what is known of a text that is streamed.
class TrainingText {
 public:
  // Reads the files, or where their lines are. Throws not_found, bad_file, invalid_argument.
  TrainingText(const TextOptions& texts, const train::TrainOptions& training);

  // The pairs to learn a vocabulary from: all, or the first part of a streamed text.
  const std::vector<data::SentencePair>& pairs() const { return pairs_; }

  // The text in pieces of the model, for training. The pairs are no longer there afterwards.
  std::unique_ptr<train::CorpusSource> encode(const formats::Model& model);

  // "29182 pairs, 383275 target tokens an epoch", for people; after encode().
  const std::string& summary() const { return summary_; }

 private:
  std::int64_t max_tokens_;
  double sampling_;
  std::int64_t stream_pairs_;
  std::uint64_t seed_;
  std::vector<data::SentencePair> pairs_;
  std::optional<data::ShuffledText> streamed_;
  std::optional<train::EncodedCorpus> corpus_;
  std::string summary_;
};

}  // namespace zhuyi::cli
