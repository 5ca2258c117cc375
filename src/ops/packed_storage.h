#pragma once
// A weight for inference, packed once in the order that products read, in f32, or in bf16 when its numbers are such and
// the CPU multiplies them.

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/plain_storage.h"

namespace zhuyi::ops {

class PackedStorage {
 public:
  // Packs the present numbers, which must be f32 and not change afterwards. Products equal those with `plain`, and in
  // bf16 those in that precision, bit for bit.
  explicit PackedStorage(const PlainStorage& plain);

  const PlainStorage& plain() const { return plain_; }

  // See ops/storage.h.
  void product(kernels::ConstMatrix<float> x, kernels::Matrix<float> out,
               const kernels::GemmOptions<float>& options) const {
    kernels::gemm(x, packed_, out, options);
  }
  void rows(std::span<const std::int32_t> outputs, float factor, kernels::Matrix<float> to) const {
    plain_.rows<float>(outputs, factor, to);
  }
  // For products alone: the plain numbers are not kept beside the packed ones.
  PackedStorage subset(std::span<const std::int32_t> outputs) const;
  std::string_view name() const { return plain_.name(); }
  std::vector<StoredArray> arrays() const { return plain_.arrays(); }
  tensor::DType kept() const { return plain_.kept(); }

 private:
  PackedStorage(PlainStorage plain, kernels::PackedMatrix packed)
      : plain_(std::move(plain)), packed_(std::move(packed)) {}

  PlainStorage plain_;
  kernels::PackedMatrix packed_;
};

}  // namespace zhuyi::ops
