#include "train/epoch_plan.h"

#include "base/error.h"
#include "base/random.h"

namespace zhuyi::train {

void EpochPlan::go_to(const Progress& progress) {
  if (corpus_ != nullptr && epoch_ == progress.epoch && part_ == progress.part) return;
  corpus_ = &source_.take(progress.epoch, progress.part);
  base::check_kind(corpus_->size() > 0, base::ErrorKind::bad_file, "training: no pairs to train on");
  epoch_ = progress.epoch;
  part_ = progress.part;
  parts_ = source_.parts(epoch_);
  data::BatcherOptions options = options_;
  if (part_ > 0) options.seed = base::combine(options.seed, static_cast<std::uint64_t>(part_));
  batches_ = plan_epoch(corpus_->lengths(), options, epoch_, corpus_->weights());
  base::check_kind(!batches_.empty(), base::ErrorKind::bad_file,
                   "training: an epoch without pairs; their weights are too small");
}

double EpochPlan::epochs(const Progress& progress) const {
  const double in_part =
      progress.batch == 0 ? 0 : static_cast<double>(progress.batch) / static_cast<double>(batches_.size());
  return static_cast<double>(progress.epoch) +
         (static_cast<double>(progress.part) + in_part) / static_cast<double>(parts_);
}

std::vector<std::vector<std::int64_t>> EpochPlan::next(std::int64_t count, Progress& progress,
                                                       const std::function<bool()>& over) {
  std::vector<std::vector<std::int64_t>> taken;
  while (static_cast<std::int64_t>(taken.size()) < count && (taken.empty() || !over())) {
    go_to(progress);
    taken.push_back(batches_[static_cast<std::size_t>(progress.batch)]);
    if (++progress.batch < static_cast<std::int64_t>(batches_.size())) continue;
    progress.batch = 0;
    if (++progress.part == parts_) {
      progress.part = 0;
      ++progress.epoch;
    }
    if (!source_.whole()) break;
  }
  return taken;
}

}  // namespace zhuyi::train
