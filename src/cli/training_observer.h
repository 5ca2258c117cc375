#pragma once
// What a training run shows: a bar on a terminal, a plain line now and then elsewhere.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/tensorboard.h"
#include "train/trainer.h"

namespace zhuyi::cli {

// Of a process beside the first: shows nothing, and hears the wish to stop.
class SilentObserver final : public train::Observer {
 public:
  bool stop_requested() override;
};

class TrainingObserver final : public train::Observer {
 public:
  // Shows `summary`, what is trained on what, once it is decided how; `accepted` is called when the run is known to be
  // possible, before its first step.
  TrainingObserver(bool terminal, std::string summary, std::function<void()> accepted)
      : terminal_(terminal), summary_(std::move(summary)), accepted_(std::move(accepted)) {}

  // Tells it of the progress too.
  void add(TensorBoard board) { board_ = std::move(board); }

  void decided(kernels::Precision precision) override;
  void started(const train::StepReport& where) override;
  void stepped(const train::StepReport& report) override;
  void recovered(const std::string& message) override;
  void skipped(const train::StepReport& where, const std::vector<std::int64_t>& lines, std::int64_t skipped) override;
  void validated(const train::StepReport& where, const train::Validation& result, bool best) override;
  void averaged(std::int64_t snapshots, const train::Validation& result, bool best) override;
  bool stop_requested() override;
  // Ends the bar's line.
  void finish();

 private:
  bool terminal_;
  std::string summary_;
  std::function<void()> accepted_;
  std::optional<TensorBoard> board_;
  bool bar_shown_ = false;
  std::chrono::steady_clock::time_point last_line_{};
};

}  // namespace zhuyi::cli
