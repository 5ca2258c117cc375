#pragma once
// The one place that looks at how a weight is stored: x W for a plain, a packed or an 8-bit weight.

#include <type_traits>

#include "base/error.h"
#include "ops/ops.h"

namespace zhuyi::ops {

// out = x W (+ options.bias): [tokens, in] -> [tokens, out]. With `recording` the plain values are used, since only
// they can be learnt; throws invalid_argument when there are none.
template <class T>
void product(kernels::ConstMatrix<T> x, const Weight& weight, kernels::Matrix<T> out,
             const kernels::GemmOptions<T>& options, bool recording) {
  const autograd::Parameter& parameter = *weight.parameter;
  if constexpr (std::is_same_v<T, float>) {
    if (parameter.int8 && !recording) return kernels::gemm(x, *parameter.int8, out, options);
    if (weight.packed && !recording) return kernels::gemm(x, *weight.packed, out, options);
  }
  base::check(!parameter.int8, "{} is in 8 bits: a frozen model translates in f32 and cannot be trained",
              parameter.name);
  kernels::gemm<T>(x, weight.matrix<T>(), out, options);
}

}  // namespace zhuyi::ops
