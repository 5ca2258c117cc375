#include "train/validator.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "infer/translate_tokens.h"
#include "infer/translator.h"
#include "kernels/vector.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"

namespace zhuyi::train {
namespace {

constexpr std::int64_t kBatchTokens = 2048;
constexpr std::int64_t kSamples = 5;

// Greedy translations of sources, as text.
std::vector<std::string> translations(const formats::Model& model, std::span<const std::vector<std::int32_t>> sources) {
  infer::SearchOptions options = infer::search_options(model);
  options.beam_size = 1;
  std::vector<std::string> texts;
  for (const std::vector<infer::Hypothesis>& found : infer::translate_tokens(*model.transformer, sources, options)) {
    texts.push_back(model.target.decode(found.front().tokens));
  }
  return texts;
}

}  // namespace

Validator::Validator(std::vector<data::SentencePair> pairs, const text::Tokenizer& source,
                     const text::Tokenizer& target, std::int64_t translated)
    : pairs_(std::move(pairs)), corpus_(pairs_, source, target, 0), translated_(translated) {
  base::check(!pairs_.empty(), "validation: no pairs");
}

Validation Validator::run(const formats::Model& model, bool translate) const {
  const auto start = std::chrono::steady_clock::now();
  Validation result;
  const data::BatcherOptions batches{.tokens = kBatchTokens, .pool = corpus_.size() + 1, .seed = 0};
  for (const std::vector<std::int64_t>& batch : data::plan_epoch(corpus_.lengths(), batches, 0)) {
    result.nll += kernels::sum<float>(model.transformer->nll(corpus_.batch(batch)).data<float>());
  }
  result.nll /= static_cast<double>(corpus_.target_tokens());
  const std::int64_t count = translate && std::isfinite(result.nll) ? std::min(translated_, corpus_.size()) : 0;
  if (count > 0) {
    std::vector<std::vector<std::int32_t>> sources;
    std::vector<std::string> references;
    for (std::int64_t i = 0; i < count; ++i) {
      sources.emplace_back(corpus_.source(i).begin(), corpus_.source(i).end());
      references.push_back(pairs_[static_cast<std::size_t>(corpus_.index(i))].target);
    }
    const std::vector<std::string> hypotheses = translations(model, sources);
    result.bleu = metrics::corpus_bleu(hypotheses, references, metrics::default_tokenization(references)).score;
    result.chrf = metrics::corpus_chrf(hypotheses, references).score;
    result.translated = count;
    for (std::int64_t i = 0; i < std::min(count, kSamples); ++i) {
      const data::SentencePair& pair = pairs_[static_cast<std::size_t>(corpus_.index(i))];
      result.samples.push_back({pair.source, pair.target, hypotheses[static_cast<std::size_t>(i)]});
    }
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace zhuyi::train
