#include "ops/packed_storage.h"

#include <memory>
#include <utility>

#include "base/error.h"

namespace zhuyi::ops {
namespace {

using kernels::Precision;

kernels::PackedMatrix packed(const PlainStorage& plain) {
  base::check(plain.parameter->value.dtype() == tensor::DType::f32, "pack: {} is {}, expected f32",
              plain.parameter->name, plain.parameter->value.shape());
  const bool half = plain.in_bf16 && kernels::has_precision(Precision::bf16);
  return kernels::PackedMatrix(plain.matrix<float>(), half ? Precision::bf16 : Precision::f32);
}

}  // namespace

PackedStorage::PackedStorage(const PlainStorage& plain) : PackedStorage(plain, packed(plain)) {}

PackedStorage PackedStorage::subset(std::span<const std::int32_t> outputs) const {
  const PlainStorage some = plain_.subset(outputs);
  auto shape = std::make_shared<autograd::Parameter>(*some.parameter);
  shape->value = tensor::Tensor();
  return {PlainStorage{shape, some.transposed, some.in_bf16}, packed(some)};
}

}  // namespace zhuyi::ops
