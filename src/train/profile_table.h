#pragma once
// A profile of training steps as a table to read.

#include <string>

#include "autograd/profile.h"

namespace zhuyi::train {

// What registers were measured to do (kernels::peak_gflops), in GFLOP/s. 0: not measured.
struct RegisterPeaks {
  int threads = 1;
  double f32 = 0;
  double bf16 = 0;
};

// Both, as far as products in `precision` need them, on as many threads as parallel loops use now, in half a second.
RegisterPeaks measure_peaks(kernels::Precision precision);

// A row for each operation and direction that took place: calls and milliseconds a step, share of the time, and for
// products GFLOP/s of the work they need and its share of the peak in their precision. Below: the sum, and the memory
// that was new.
std::string profile_table(const autograd::Profile& profile, const RegisterPeaks& peaks);

}  // namespace zhuyi::train
