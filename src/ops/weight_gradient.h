#pragma once
// The gradient of a weight, which linear maps and the vocabulary projection share.

#include "ops/weight.h"

namespace zhuyi::ops {

// dW += x^T dy, or of a table dW^T += dy^T x: x [tokens, inputs], dy [tokens, outputs], dw of the parameter's shape.
template <class T>
void add_weight_gradient(kernels::ConstMatrix<T> x, kernels::ConstMatrix<T> dy, const Weight& weight, tensor::Tensor dw,
                         kernels::Precision precision) {
  kernels::GemmOptions<T> add;
  add.accumulate = true;
  add.precision = precision;
  if (weight.declared().transposed) {  // [out, in] += [out, tokens] [tokens, in]
    kernels::gemm<T>(dy.transposed(), x, dw.matrix<T>(), add);
  } else {  // [in, out] += [in, tokens] [tokens, out]
    kernels::gemm<T>(x.transposed(), dy, dw.matrix<T>(), add);
  }
}

}  // namespace zhuyi::ops
