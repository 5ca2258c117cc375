#pragma once
// A weight as it is learnt: numbers of a parameter in the model's flat block.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "autograd/parameter.h"
#include "kernels/gemm.h"
#include "ops/stored_array.h"

namespace zhuyi::ops {

using autograd::ConstParameterPtr;

struct PlainStorage {
  ConstParameterPtr parameter;  // [inputs, outputs], or [outputs, inputs] when transposed
  bool transposed = false;      // the product is with the transposed parameter (a tied embedding as output projection)
  bool in_bf16 = false;         // every number is one of bf16

  std::int64_t inputs() const { return transposed ? parameter->columns : parameter->rows; }
  std::int64_t outputs() const { return transposed ? parameter->rows : parameter->columns; }
  // The [inputs, outputs] matrix.
  template <class T>
  kernels::ConstMatrix<T> matrix() const {
    const kernels::ConstMatrix<T> stored = parameter->value.matrix<T>();
    return transposed ? stored.transposed() : stored;
  }

  // See ops/storage.h; these two also in f64.
  template <class T>
  void product(kernels::ConstMatrix<T> x, kernels::Matrix<T> out, const kernels::GemmOptions<T>& options) const {
    kernels::gemm<T>(x, matrix<T>(), out, options);
  }
  template <class T>
  void rows(std::span<const std::int32_t> outputs, T factor, kernels::Matrix<T> to) const;
  PlainStorage subset(std::span<const std::int32_t> outputs) const;
  std::string_view name() const { return in_bf16 ? "bf16" : "f32"; }
  std::vector<StoredArray> arrays() const { return {{"", parameter->value, in_bf16}}; }
  tensor::DType kept() const { return in_bf16 ? tensor::DType::bf16 : parameter->value.dtype(); }
};

}  // namespace zhuyi::ops
