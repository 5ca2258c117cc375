#pragma once
// Where the time of training steps goes: by operation, forward and backward apart, with the arithmetic that was done.

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "kernels/gemm.h"

namespace zhuyi::autograd {

// What the time of a step is divided among.
enum class Operation {
  linear,           // x W + b
  attention,        // scores, softmax, dropout of the weights, mixing
  norm,             // layer norm, RMS norm
  activation,       // ReLU, GELU, SiLU
  dropout,          // on its own
  residual,         // additions, with dropout where there is one
  gate,             // products of elements
  embedding,        // look-up of pieces and positions
  projection_loss,  // vocabulary projection, softmax, cross-entropy; its gradients are made while it is computed
  optimizer,        // clearing, norm and clipping of the gradient, the step itself
  all_reduce,       // sums over the processes
  batch,            // planning a step's batches and putting them together
  rest,             // whatever is none of these
};
inline constexpr std::array<std::string_view, 13> kOperationNames = {
    "linear",    "attention",       "norm",      "activation", "dropout",        "residual", "gate",
    "embedding", "projection loss", "optimizer", "all-reduce", "batch assembly", "the rest"};

enum class Pass { forward, backward };

// The multiply-adds that an operation's products need, counted as two operations each, and what they are multiplied in.
struct Work {
  double flops = 0;
  kernels::Precision precision = kernels::Precision::f32;
};

// Time and work of one operation in one direction, over all steps.
struct ProfileEntry {
  std::int64_t calls = 0;
  double seconds = 0;  // without that of operations inside it
  Work work;           // all of it; the precision is the last one's
};

// A stop-watch with a hand for each operation, of which one is running at any moment of a step: so their times add up
// to that of the steps. For one thread, that which calls the operations; the threads that help it are not looked at.
class Profile {
 public:
  // `clock` gives seconds since any moment; without it the steady clock is read.
  explicit Profile(std::function<double()> clock = {});

  // A step begins: its time goes to `rest` until an operation takes it.
  void begin_step();
  void end_step();

  std::int64_t steps() const { return steps_; }
  // Of all steps that have ended.
  double seconds() const { return seconds_; }
  // Pages of memory that were touched for the first time in these steps, by all threads: memory that had not been there
  // before, or had been returned to the system.
  std::int64_t page_faults() const { return page_faults_; }
  const ProfileEntry& entry(Operation operation, Pass pass) const { return entries_[index_of(operation, pass)]; }

 private:
  friend class Timing;
  static std::size_t index_of(Operation operation, Pass pass) {
    return 2 * static_cast<std::size_t>(operation) + static_cast<std::size_t>(pass);
  }
  // The time up to now goes to the running hand; then that of `next` runs. Gives the one before.
  std::size_t switch_to(std::size_t next);

  std::function<double()> clock_;
  std::array<ProfileEntry, 2 * kOperationNames.size()> entries_;
  bool in_step_ = false;
  std::size_t running_ = 0;
  double begin_ = 0;
  double last_ = 0;
  std::int64_t first_fault_ = 0;
  std::int64_t steps_ = 0;
  double seconds_ = 0;
  std::int64_t page_faults_ = 0;
};

// While it lives, the time of the step goes to its operation. Without a profile, or between steps, it does nothing.
class Timing {
 public:
  Timing(Profile* profile, Operation operation, Pass pass, const Work& work = {}) {
    if (profile != nullptr && profile->in_step_) start(*profile, operation, pass, work);
  }
  ~Timing() {
    if (profile_ != nullptr) profile_->switch_to(before_);
  }
  Timing(const Timing&) = delete;
  Timing& operator=(const Timing&) = delete;

 private:
  void start(Profile& profile, Operation operation, Pass pass, const Work& work);

  Profile* profile_ = nullptr;
  std::size_t before_ = 0;
};

}  // namespace zhuyi::autograd
