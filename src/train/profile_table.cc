#include "train/profile_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/parallel.h"
#include "kernels/peak.h"
#include "kernels/precision.h"

namespace zhuyi::train {

using autograd::Operation;
using autograd::Pass;
using autograd::Profile;
using autograd::ProfileEntry;
using kernels::Precision;

namespace {

// Only these have a backward side.
bool has_directions(Operation operation) { return operation < Operation::optimizer; }

std::string row_of(const ProfileEntry& entry, Operation operation, Pass pass, const Profile& profile,
                   const RegisterPeaks& peaks) {
  const auto steps = static_cast<double>(profile.steps());
  const char* direction = !has_directions(operation) ? "" : pass == Pass::forward ? "forward" : "backward";
  std::string row = fmt::format("{:<16} {:<8} {:>8.1f} {:>10.2f} {:>6.1f} %",
                                autograd::kOperationNames[static_cast<std::size_t>(operation)], direction,
                                static_cast<double>(entry.calls) / steps, 1e3 * entry.seconds / steps,
                                100 * entry.seconds / profile.seconds());
  if (entry.work.flops > 0) {
    const double speed = entry.work.flops / entry.seconds / 1e9;
    const double peak = entry.work.precision == Precision::bf16 ? peaks.bf16 : peaks.f32;
    row += fmt::format(" {:>9.1f}", speed);
    if (peak > 0) row += fmt::format(" {:>7.0f} % of {}", 100 * speed / peak, name_of(entry.work.precision));
  }
  return row + "\n";
}

}  // namespace

RegisterPeaks measure_peaks(Precision precision) {
  RegisterPeaks peaks{.threads = base::threads()};
  const bool both = precision == Precision::bf16;
  peaks.f32 = kernels::peak_gflops(peaks.threads, Precision::f32, both ? 0.25 : 0.5);
  if (both) peaks.bf16 = kernels::peak_gflops(peaks.threads, Precision::bf16, 0.25);
  return peaks;
}

std::string profile_table(const Profile& profile, const RegisterPeaks& peaks) {
  if (profile.steps() == 0) return "profile: no steps\n";
  const auto steps = static_cast<double>(profile.steps());
  std::string text = fmt::format("profile of {} steps on {} threads; registers: {:.0f} GFLOP/s in f32", profile.steps(),
                                 peaks.threads, peaks.f32);
  if (peaks.bf16 > 0) text += fmt::format(", {:.0f} in bf16", peaks.bf16);
  text += fmt::format("\n{:<16} {:<8} {:>8} {:>10} {:>8} {:>9} {:>9}\n", "operation", "", "calls", "ms a step", "share",
                      "GFLOP/s", "of peak");
  for (std::size_t i = 0; i < autograd::kOperationNames.size(); ++i) {
    for (const Pass pass : {Pass::forward, Pass::backward}) {
      const auto operation = static_cast<Operation>(i);
      const ProfileEntry& entry = profile.entry(operation, pass);
      if (entry.calls > 0) text += row_of(entry, operation, pass, profile, peaks);
    }
  }
  text += fmt::format("{:<16} {:<8} {:>8} {:>10.2f}\n", "a step", "", "", 1e3 * profile.seconds() / steps);
  const double pages = static_cast<double>(profile.page_faults()) / steps;
  text += fmt::format("new memory: {:.0f} pages a step, {:.1f} MB\n", pages,
                      pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20));
  return text;
}

}  // namespace zhuyi::train
