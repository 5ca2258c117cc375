#include "cli/training_observer.h"

#include <fmt/format.h>

#include <iostream>
#include <string>

#include "cli/interrupt.h"
#include "cli/progress_bar.h"
#include "cli/time_text.h"

namespace zhuyi::cli {
namespace {

constexpr std::chrono::seconds kLineEvery{20};
constexpr std::chrono::milliseconds kBarEvery{200};

std::string text_of(const train::StepReport& r) {
  return fmt::format("step {} epoch {} loss {:.3f} nll {:.3f} {:.0f} tokens/s rate {:.2e} left {}", r.step, r.epoch,
                     r.loss, r.nll, r.tokens_per_second, r.rate, time_text(r.seconds_left));
}

}  // namespace

void TrainingObserver::decided(kernels::Precision precision) {
  std::cerr << fmt::format("{}; products in {}\n", summary_, train::word_of(precision));
}

void TrainingObserver::started(const train::StepReport& where) {
  accepted_();
  if (board_) board_->started(where);
  if (where.step == 0) return;
  std::cerr << fmt::format("continuing at step {}, after {} of training\n", where.step, time_text(where.seconds));
}

void TrainingObserver::stepped(const train::StepReport& report) {
  if (board_) board_->stepped(report);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_line_ < (terminal_ ? std::chrono::duration_cast<std::chrono::milliseconds>(kBarEvery)
                                    : std::chrono::duration_cast<std::chrono::milliseconds>(kLineEvery))) {
    return;
  }
  last_line_ = now;
  if (terminal_) {
    show_last_line(fmt::format("{}  {}", bar_text(report.progress), text_of(report)));
    bar_shown_ = true;
  } else {
    std::cerr << text_of(report) << std::endl;
  }
}

void TrainingObserver::recovered(const std::string& message) {
  std::cerr << fmt::format("{}; going on from the checkpoint before it\n", message);
}

void TrainingObserver::skipped(const train::StepReport& where, const std::vector<std::int64_t>& lines,
                               std::int64_t skipped) {
  finish();
  std::cerr << fmt::format(
      "step {} left out: its loss or gradient is not finite ({} lines, see metrics.jsonl; {} so far)\n", where.step,
      lines.size(), skipped);
}

void TrainingObserver::validated(const train::StepReport& where, const train::Validation& result, bool best) {
  if (board_) board_->validated(where, result);
  finish();
  std::cerr << fmt::format("{} step {} validation nll {:.4f}", time_text(where.seconds), where.step, result.nll);
  if (result.translated > 0) {
    std::cerr << fmt::format(" BLEU {:.1f} chrF {:.1f} (greedy, {} sentences)", result.bleu, result.chrf,
                             result.translated);
  }
  std::cerr << (best ? " best so far" : "") << std::endl;
}

void TrainingObserver::averaged(std::int64_t snapshots, const train::Validation& result, bool best) {
  std::cerr << fmt::format("mean of the last {} snapshots: validation nll {:.4f} BLEU {:.1f} chrF {:.1f}{}\n",
                           snapshots, result.nll, result.bleu, result.chrf, best ? ", kept as the model" : "");
}

bool TrainingObserver::stop_requested() { return interrupted(); }

bool SilentObserver::stop_requested() { return interrupted(); }

void TrainingObserver::finish() {
  if (bar_shown_) std::cerr << "\n";
  bar_shown_ = false;
}

}  // namespace zhuyi::cli
