#pragma once
// The learning rate as a function of the step: warm-up, then decay (paper 5.3).

#include <cstdint>
#include <string>

namespace zhuyi::optim {

enum class ScheduleKind {
  paper,                // factor d_model^-0.5 min(step^-0.5, step warmup^-1.5); paper 5.3, equation 3
  inverse_square_root,  // peak min(step / warmup, sqrt(warmup / step))
  linear,               // up to peak in warm-up, then in a straight line to 0 at the end of training
  cosine,               // up to peak in warm-up, then half a cosine to 0 at the end (Loshchilov, Hutter, 2017)
  constant,             // up to peak in warm-up, then the peak, then in a straight line to 0 over the last `cooldown`
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::paper;
  double peak = 1e-3;              // highest rate; for `paper`, the factor
  std::int64_t warmup = 4000;      // steps
  std::int64_t warmup_tokens = 0;  // instead of steps: target tokens; not for `paper`
  std::int64_t d_model = 512;      // `paper` only
  double cooldown = 0.2;           // share of training, `constant` only

  // The rate of step `step` (the first is 1), when `progress` in [0, 1] of the training is done and `tokens` target
  // tokens have been seen, this step's included. Only linear, cosine and constant look at the progress; whoever trains
  // by the clock gives them the share of the time. With warmup_tokens, "step / warmup" is tokens / warmup_tokens.
  double rate(std::int64_t step, double progress, std::int64_t tokens = 0) const;
};

// The word of a kind (paper, inverse-square-root, linear, cosine, constant) and back; throws invalid_argument.
std::string name_of(ScheduleKind kind);
ScheduleKind schedule_of(const std::string& name);

}  // namespace zhuyi::optim
