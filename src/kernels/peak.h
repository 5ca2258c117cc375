#pragma once
// What this machine can do in registers: the limit that the speed of products is measured beside.

#include "kernels/gemm.h"

namespace zhuyi::kernels {

// Multiply-adds (counted as two operations) without memory, on `threads` threads, in GFLOP/s: the best of what fits
// into about `seconds`. `precision` is f32 or bf16 (with AMX: of its tiles); throws invalid_argument for int8, for bf16
// where the instruction set in use has none, and for fewer than 1 thread.
double peak_gflops(int threads, Precision precision = Precision::f32, double seconds = 0.1);

}  // namespace zhuyi::kernels
