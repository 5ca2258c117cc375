#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "base/error.h"

namespace zhuyi::optim {
namespace {

constexpr const char* kNames[] = {"paper", "inverse-square-root", "linear", "cosine", "constant"};

}  // namespace

double Schedule::rate(std::int64_t step, double progress, std::int64_t tokens) const {
  base::check(step >= 1 && warmup >= 1, "schedule: step {} with a warm-up of {}, expected at least 1", step, warmup);
  const bool by_tokens = warmup_tokens > 0 && kind != ScheduleKind::paper;
  const auto s = static_cast<double>(by_tokens ? tokens : step);
  const auto w = static_cast<double>(by_tokens ? warmup_tokens : warmup);
  const double left = std::clamp(1 - progress, 0.0, 1.0);
  const double rise = std::min(1.0, s / w);
  switch (kind) {
    case ScheduleKind::paper:
      return peak * std::pow(static_cast<double>(d_model), -0.5) * std::min(std::pow(s, -0.5), s * std::pow(w, -1.5));
    case ScheduleKind::inverse_square_root:
      return peak * std::min(s / w, std::sqrt(w / s));
    case ScheduleKind::linear:
      return peak * std::min(rise, left);
    case ScheduleKind::cosine:
      return peak * std::min(rise, 0.5 * (1 - std::cos(std::numbers::pi * left)));
    case ScheduleKind::constant:
      return peak * std::min(rise, cooldown > 0 ? std::min(1.0, left / cooldown) : 1.0);
  }
  base::fail(base::ErrorKind::internal, "schedule: a kind without a formula");
}

std::string name_of(ScheduleKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

ScheduleKind schedule_of(const std::string& name) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  base::check(found != std::end(kNames), "'{}' is not a schedule; there are: {}", name,
              fmt::join(std::begin(kNames), std::end(kNames), ", "));
  return static_cast<ScheduleKind>(found - std::begin(kNames));
}

}  // namespace zhuyi::optim
