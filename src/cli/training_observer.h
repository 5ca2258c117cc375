#pragma once
// What a training run shows: a bar on a terminal, a plain line now and then elsewhere.

#include <chrono>
#include <functional>
#include <utility>

#include "train/trainer.h"

namespace zhuyi::cli {

class TrainingObserver final : public train::Observer {
 public:
  // `accepted` is called once the run is known to be possible, before its first step.
  TrainingObserver(bool terminal, std::function<void()> accepted)
      : terminal_(terminal), accepted_(std::move(accepted)) {}

  void started(const train::StepReport& where) override;
  void stepped(const train::StepReport& report) override;
  void validated(const train::StepReport& where, const train::Validation& result, bool best) override;
  void averaged(std::int64_t snapshots, const train::Validation& result, bool best) override;
  bool stop_requested() override;
  // Ends the bar's line.
  void finish();

 private:
  bool terminal_;
  std::function<void()> accepted_;
  bool bar_shown_ = false;
  std::chrono::steady_clock::time_point last_line_{};
};

}  // namespace zhuyi::cli
