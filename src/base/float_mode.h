#pragma once
// How a thread does floating-point arithmetic (x86's MXCSR). base::parallel_for gives all threads of a loop the mode of
// the one that started it, so that a result does not depend on which thread computes it.

#include <immintrin.h>

namespace zhuyi::base {

// Gives this thread a mode for as long as it lives. Must end in the thread that it began in, the last first.
class ScopedFloatMode {
 public:
  explicit ScopedFloatMode(unsigned mode) : before_(_mm_getcsr()) { _mm_setcsr(mode); }
  ~ScopedFloatMode() { _mm_setcsr(before_); }
  ScopedFloatMode(const ScopedFloatMode&) = delete;
  ScopedFloatMode& operator=(const ScopedFloatMode&) = delete;

 private:
  unsigned before_;
};

// For as long as it lives, denormal numbers (f32: below 2^-126, f64: below 2^-1022) count as zero, as inputs and as
// results, in this thread and in all loops that it starts: a CPU takes up to a hundred times as long for them.
class FlushDenormals {
 public:
  FlushDenormals() : mode_(_mm_getcsr() | kFlushToZero | kDenormalsAreZero) {}

 private:
  static constexpr unsigned kFlushToZero = 1U << 15;      // of results
  static constexpr unsigned kDenormalsAreZero = 1U << 6;  // of inputs

  ScopedFloatMode mode_;
};

}  // namespace zhuyi::base
