#pragma once
// How good a model is on text it has not seen: loss per token, BLEU and chrF of greedy translations.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "data/pair.h"
#include "formats/model_file.h"
#include "train/encoded_corpus.h"

namespace zhuyi::train {

// One of the translations behind BLEU and chrF.
struct Sample {
  std::string source;
  std::string reference;
  std::string translation;
};

struct Validation {
  double nll = 0;   // -log p per target token, eos included
  double bleu = 0;  // of greedy translations, 0 to 100
  double chrf = 0;
  std::int64_t translated = 0;  // sentences behind bleu and chrf; 0: not translated
  double seconds = 0;
  std::vector<Sample> samples;  // of the first few sentences
};

class Validator {
 public:
  // Uses all pairs for the loss and the first `translated` for BLEU and chrF.
  Validator(std::vector<data::SentencePair> pairs, const text::Tokenizer& source, const text::Tokenizer& target,
            std::int64_t translated);

  std::int64_t size() const { return corpus_.size(); }
  std::int64_t translated() const { return std::min(translated_, corpus_.size()); }
  const EncodedCorpus& corpus() const { return corpus_; }
  // Without `translate` only the loss is computed.
  Validation run(const formats::Model& model, bool translate) const;

 private:
  std::vector<data::SentencePair> pairs_;
  EncodedCorpus corpus_;
  std::int64_t translated_;
};

}  // namespace zhuyi::train
