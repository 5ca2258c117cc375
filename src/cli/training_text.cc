#include "cli/training_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "data/weighted_file.h"
#include "text/scripts.h"

namespace zhuyi::cli {

void declare_texts(CLI::App& app, TextOptions& texts) {
  app.add_option("--train", texts.train, "training pairs: TSV of `zhuyi corpus`, FILE or FILE:WEIGHT; may be repeated")
      ->allow_extra_args(false)
      ->default_str("");
  app.add_option("--max-tokens", texts.max_tokens, "tokens of a side above which a pair is left out (0: none is)");
}

void note_scripts(formats::Model& model, const std::vector<data::SentencePair>& pairs, bool started_from_another) {
  constexpr std::size_t kPairs = 20'000;  // from all over the text are enough
  constexpr double kLeastShare = 0.001;   // of the letters; fewer are names and examples of another script
  if (started_from_another && model.source_scripts.empty()) return;
  std::vector<std::string_view> sources;
  for (std::size_t i = 0; i < pairs.size(); i += pairs.size() / kPairs + 1) sources.push_back(pairs[i].source);
  std::vector<std::string>& scripts = model.source_scripts;
  for (std::string& script : text::main_scripts(sources, kLeastShare)) {
    const auto at = std::lower_bound(scripts.begin(), scripts.end(), script);
    if (at == scripts.end() || *at != script) scripts.insert(at, std::move(script));
  }
}

TrainingText::TrainingText(const TextOptions& texts, const train::TrainOptions& training)
    : max_tokens_(texts.max_tokens),
      sampling_(training.subword_sampling),
      stream_pairs_(training.stream_pairs),
      seed_(training.seed) {
  std::vector<data::WeightedFile> files;
  for (const std::string& text : texts.train) files.push_back(data::weighted_file(text));
  if (training.stream_pairs == 0) {
    pairs_ = data::read_weighted(files);
  } else {
    streamed_.emplace(std::move(files), training.stream_pairs, training.seed);
    pairs_ = streamed_->read(0, 0);
  }
}

std::unique_ptr<train::CorpusSource> TrainingText::encode(const formats::Model& model) {
  train::Sampling sampling = train::sampling_of(model.source, model.target, sampling_, seed_);
  if (streamed_) {
    std::vector<data::SentencePair>().swap(pairs_);
    summary_ = fmt::format("{} lines, of which about {} are in memory at a time", streamed_->lines(), stream_pairs_);
    return std::make_unique<train::StreamedCorpus>(*std::move(streamed_), model.source, model.target, max_tokens_,
                                                   std::move(sampling));
  }
  corpus_.emplace(pairs_, model.source, model.target, max_tokens_);
  std::vector<data::SentencePair>().swap(pairs_);
  corpus_->sample(std::move(sampling));
  summary_ = fmt::format("{} pairs, {} target tokens an epoch ({} pairs left out as longer than {} tokens)",
                         corpus_->size(), corpus_->target_tokens(), corpus_->left_out(), max_tokens_);
  return std::make_unique<train::WholeCorpus>(*corpus_);
}

}  // namespace zhuyi::cli
