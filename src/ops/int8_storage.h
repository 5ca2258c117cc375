#pragma once
// A weight in 8 bits with a scale for each output; its parameter has no numbers in the flat block.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm_int8.h"
#include "ops/plain_storage.h"

namespace zhuyi::ops {

class Int8Storage {
 public:
  explicit Int8Storage(kernels::Int8Matrix numbers) : numbers_(std::move(numbers)) {}
  // The numbers of `plain`, quantised (kernels/gemm_int8.h).
  explicit Int8Storage(const PlainStorage& plain) : numbers_(plain.matrix<float>()) {}
  // What arrays() gave, of the weight that `declared` describes; none of it is copied. Throws bad_model when sizes do
  // not fit or a scale is negative or not finite.
  static Int8Storage read(const PlainStorage& declared, const ArraySource& arrays);

  // See ops/storage.h.
  void product(kernels::ConstMatrix<float> x, kernels::Matrix<float> out,
               const kernels::GemmOptions<float>& options) const {
    kernels::gemm(x, numbers_, out, options);
  }
  void rows(std::span<const std::int32_t> outputs, float factor, kernels::Matrix<float> to) const;
  Int8Storage subset(std::span<const std::int32_t> outputs) const {
    return Int8Storage(numbers_.some_columns(outputs));
  }
  std::string_view name() const { return "int8"; }
  std::vector<StoredArray> arrays() const;
  // Half the memory of f32; the 8 bits of the weights cost more than the rounding.
  tensor::DType kept() const { return tensor::DType::bf16; }

 private:
  kernels::Int8Matrix numbers_;  // [inputs, outputs]
};

}  // namespace zhuyi::ops
