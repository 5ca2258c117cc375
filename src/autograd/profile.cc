#include "autograd/profile.h"

#include <sys/resource.h>

#include <chrono>
#include <utility>

namespace zhuyi::autograd {
namespace {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t faults_so_far() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace

Profile::Profile(std::function<double()> clock) : clock_(clock ? std::move(clock) : steady_seconds) {}

void Profile::begin_step() {
  in_step_ = true;
  running_ = index_of(Operation::rest, Pass::forward);
  ++entries_[running_].calls;
  first_fault_ = faults_so_far();
  begin_ = last_ = clock_();
}

void Profile::end_step() {
  if (!in_step_) return;
  switch_to(running_);
  in_step_ = false;
  ++steps_;
  seconds_ += last_ - begin_;
  page_faults_ += faults_so_far() - first_fault_;
}

std::size_t Profile::switch_to(std::size_t next) {
  const double now = clock_();
  entries_[running_].seconds += now - last_;
  last_ = now;
  return std::exchange(running_, next);
}

void Timing::start(Profile& profile, Operation operation, Pass pass, const Work& work) {
  const std::size_t index = Profile::index_of(operation, pass);
  ProfileEntry& entry = profile.entries_[index];
  ++entry.calls;
  if (work.flops > 0) {
    entry.work.flops += work.flops;
    entry.work.precision = work.precision;
  }
  before_ = profile.switch_to(index);
  profile_ = &profile;
}

}  // namespace zhuyi::autograd
