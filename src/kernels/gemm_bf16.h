#pragma once
// Products whose terms are bf16: the packing and the block of sums for AVX512-BF16, in the blocking of gemm.cc.

#include "kernels/gemm_tile.h"

namespace zhuyi::kernels {

// The code for CPUs with AVX512-BF16; only where has_bf16() (kernels/targets.h). a and b are f32 and are rounded to
// bf16 (nearest, ties to even) as they are packed, the terms 2 i and 2 i + 1 of k side by side; a last one without
// partner stands beside 0. Every element of c is summed over k in one order that depends on k alone.
GemmKernels<float> bf16_kernels();

}  // namespace zhuyi::kernels
