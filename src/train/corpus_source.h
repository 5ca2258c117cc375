#pragma once
// Where the pairs of an epoch come from: one corpus in memory, or parts of a larger one that are read when their turn
// comes.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "data/shuffled_text.h"
#include "train/encoded_corpus.h"

namespace zhuyi::train {

class CorpusSource {
 public:
  virtual ~CorpusSource() = default;

  // How many parts an epoch has, at least 1.
  virtual std::int64_t parts(std::int64_t epoch) const = 0;
  // The pairs of a part; they stay as long as no other part is taken.
  virtual const EncodedCorpus& take(std::int64_t epoch, std::int64_t part) = 0;
  // Whether all parts are one corpus, so that batches of several epochs may go into one step.
  virtual bool whole() const = 0;
  // What the texts are, as JSON: equal when they are the same.
  virtual std::string description() const = 0;
};

// A corpus in memory: the one part of every epoch.
class WholeCorpus : public CorpusSource {
 public:
  // The corpus must outlive it.
  explicit WholeCorpus(const EncodedCorpus& corpus) : corpus_(corpus) {}

  std::int64_t parts(std::int64_t /*epoch*/) const override { return 1; }
  const EncodedCorpus& take(std::int64_t /*epoch*/, std::int64_t /*part*/) override { return corpus_; }
  bool whole() const override { return true; }
  std::string description() const override;

 private:
  const EncodedCorpus& corpus_;
};

// A corpus on the disk, of which one part is in memory at a time.
class StreamedCorpus : public CorpusSource {
 public:
  StreamedCorpus(data::ShuffledText text, text::Tokenizer source, text::Tokenizer target, std::int64_t max_tokens,
                 Sampling sampling);

  std::int64_t parts(std::int64_t epoch) const override { return text_.parts(epoch); }
  // Throws bad_file when no pair of the part is short enough.
  const EncodedCorpus& take(std::int64_t epoch, std::int64_t part) override;
  bool whole() const override { return false; }
  std::string description() const override;

 private:
  data::ShuffledText text_;
  text::Tokenizer source_;
  text::Tokenizer target_;
  std::int64_t max_tokens_;
  Sampling sampling_;
  std::int64_t epoch_ = -1;
  std::int64_t part_ = -1;
  std::optional<EncodedCorpus> taken_;
};

// Sizes and contents of a corpus, as JSON.
std::string describe(const EncodedCorpus& corpus);

}  // namespace zhuyi::train
