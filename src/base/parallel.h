#pragma once
// The one thread runtime (OpenMP). Every parallel loop of the library goes through parallel_for.

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

#include "base/float_mode.h"

namespace zhuyi::base {

// Threads that a parallel loop started here would use: 1 inside a parallel loop (loops are never nested).
inline int threads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

// Sets the number of threads of later parallel loops started from this thread; `count` >= 1.
inline void set_threads(int count) { omp_set_num_threads(count); }

// Calls body(begin, end) for consecutive pieces of [0, count) of at most `grain` items, each exactly once, on any
// thread. Which thread takes which piece is not fixed, so results must not depend on it; all do arithmetic in this
// thread's mode (base/float_mode.h). The first exception is passed on.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= 0) return;
  const std::int64_t pieces = (count + grain - 1) / grain;
  if (pieces == 1 || threads() == 1) {
    for (std::int64_t piece = 0; piece < pieces; ++piece) body(piece * grain, std::min(count, (piece + 1) * grain));
    return;
  }
  std::exception_ptr failure;
  const unsigned float_mode = _mm_getcsr();
#pragma omp parallel
  {
    const ScopedFloatMode same_mode(float_mode);
#pragma omp for schedule(dynamic, 1) nowait
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      try {
        body(piece * grain, std::min(count, (piece + 1) * grain));
      } catch (...) {
#pragma omp critical(zhuyi_parallel_for_failure)
        if (!failure) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace zhuyi::base
