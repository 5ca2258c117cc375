#include "cli/tensorboard.h"

#include <fmt/format.h>

#include <chrono>

namespace zhuyi::cli {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace

void TensorBoard::started(const train::StepReport& where) {
  file_.emplace(directory_, now(), where.step > 0 ? where.step + 1 : 0);
}

void TensorBoard::stepped(const train::StepReport& report) {
  if (!file_) return;
  file_->add(now(), report.step,
             {{"train/loss", report.loss},
              {"train/nll", report.nll},
              {"train/learning_rate", report.rate},
              {"train/gradient_norm", report.gradient_norm},
              {"train/target_tokens_per_second", report.tokens_per_second},
              {"train/target_tokens", static_cast<double>(report.target_tokens)}});
}

void TensorBoard::validated(const train::StepReport& where, const train::Validation& result) {
  if (!file_) return;
  std::vector<formats::Scalar> scalars = {{"validation/nll", result.nll}};
  if (result.translated > 0) {
    scalars.push_back({"validation/bleu", result.bleu});
    scalars.push_back({"validation/chrf", result.chrf});
  }
  std::vector<formats::Note> notes;
  for (std::size_t i = 0; i < result.samples.size(); ++i) {
    const train::Sample& sample = result.samples[i];
    notes.push_back({fmt::format("sample/{}", i + 1),
                     fmt::format("{}\n\n{}\n\n{}", sample.source, sample.reference, sample.translation)});
  }
  file_->add(now(), where.step, scalars, notes);
}

}  // namespace zhuyi::cli
