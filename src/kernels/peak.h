#pragma once
// What this machine can do in registers: the limit that the speed of products is measured beside.

#include <cstdint>

#include "kernels/gemm.h"

namespace zhuyi::kernels {

// `steps` steps of the chains that fill the registers: their sum, and how many multiply-adds they were. In f32 each
// number x becomes x / 2 + 1 / 4; in bf16 1 / 8 is added to each, by two products; the first of a chain are 0, 1, 2,
// ... in all lanes. (In bf16 the sum is of the first lane; AMX multiplies zeros, and its sum is 1.)
struct PeakChains {
  float sum;
  std::int64_t multiply_adds;
};
PeakChains run_peak_chains(Precision precision, std::int64_t steps);

// Multiply-adds (counted as two operations) without memory, on `threads` threads, in GFLOP/s: the best of what fits
// into about `seconds`. `precision` is f32 or bf16 (with AMX: of its tiles); throws invalid_argument for int8, for bf16
// where the instruction set in use has none, and for fewer than 1 thread.
double peak_gflops(int threads, Precision precision = Precision::f32, double seconds = 0.1);

}  // namespace zhuyi::kernels
