#include "train/corpus_source.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"

namespace zhuyi::train {

namespace {

constexpr std::int64_t kParts = 16;  // of a text, told apart when a difference is named

}  // namespace

std::string describe(const EncodedCorpus& corpus) {
  nlohmann::json parts = nlohmann::json::array();
  for (std::int64_t part = 0; part < kParts; ++part) {
    parts.push_back(corpus.fingerprint(corpus.size() * part / kParts, corpus.size() * (part + 1) / kParts));
  }
  return nlohmann::json{{"pairs", corpus.size()},
                        {"source tokens", corpus.source_tokens()},
                        {"target tokens", corpus.target_tokens()},
                        {"text", parts}}
      .dump();
}

std::string WholeCorpus::description() const { return describe(corpus_); }

StreamedCorpus::StreamedCorpus(data::ShuffledText text, text::Tokenizer source, text::Tokenizer target,
                               std::int64_t max_tokens, Sampling sampling)
    : text_(std::move(text)),
      source_(std::move(source)),
      target_(std::move(target)),
      max_tokens_(max_tokens),
      sampling_(std::move(sampling)) {}

const EncodedCorpus& StreamedCorpus::take(std::int64_t epoch, std::int64_t part) {
  if (taken_ && epoch == epoch_ && part == part_) return *taken_;
  taken_.reset();  // before the next one is read
  taken_.emplace(text_.read(epoch, part), source_, target_, max_tokens_);
  taken_->sample(sampling_);
  base::check_kind(taken_->size() > 0, base::ErrorKind::bad_file,
                   "training: none of the pairs of a part of the text has at most {} tokens a side (--max-tokens)",
                   max_tokens_);
  epoch_ = epoch;
  part_ = part;
  return *taken_;
}

std::string StreamedCorpus::description() const {
  return nlohmann::json{{"lines", text_.lines()}, {"text", text_.fingerprint()}}.dump();
}

}  // namespace zhuyi::train
