#pragma once
// Which batches a run takes one after another: their order in the data, as a function of the seed.

#include <cstdint>
#include <functional>
#include <vector>

#include "data/batcher.h"
#include "train/checkpoint.h"
#include "train/corpus_source.h"

namespace zhuyi::train {

// The batches of the part of the epoch that Progress says. The source must outlive it.
class EpochPlan {
 public:
  EpochPlan(CorpusSource& source, const data::BatcherOptions& options) : source_(source), options_(options) {}

  // Takes the part in which `progress` stands, if it has not got it.
  void go_to(const Progress& progress);
  // The pairs that the last batches of next() are numbers of.
  const EncodedCorpus& corpus() const { return *corpus_; }
  // Epochs done, with the share of the one that is begun.
  double epochs(const Progress& progress) const;

  // The next batches, at most `count` and at least one, and moves `progress` behind them. Fewer where `over` says after
  // one that the run is, and where a part of a streamed corpus ends: a step's batches are of one part.
  std::vector<std::vector<std::int64_t>> next(std::int64_t count, Progress& progress,
                                              const std::function<bool()>& over);

 private:
  CorpusSource& source_;
  data::BatcherOptions options_;
  const EncodedCorpus* corpus_ = nullptr;
  std::int64_t epoch_ = -1;
  std::int64_t part_ = -1;
  std::int64_t parts_ = 1;  // of the epoch
  std::vector<std::vector<std::int64_t>> batches_;
};

}  // namespace zhuyi::train
