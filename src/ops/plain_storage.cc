#include "ops/plain_storage.h"

#include "base/error.h"
#include "kernels/rows.h"

namespace zhuyi::ops {

template <class T>
void PlainStorage::rows(std::span<const std::int32_t> outputs, T factor, kernels::Matrix<T> to) const {
  base::check(transposed, "{} is no table of outputs", parameter->name);
  kernels::gather_rows<T>(parameter->value.matrix<T>(), outputs, factor, to);
}

template void PlainStorage::rows(std::span<const std::int32_t>, float, kernels::Matrix<float>) const;
template void PlainStorage::rows(std::span<const std::int32_t>, double, kernels::Matrix<double>) const;

PlainStorage PlainStorage::subset(std::span<const std::int32_t> outputs) const {
  auto some = std::make_shared<autograd::Parameter>();
  some->name = parameter->name;
  some->rows = std::ssize(outputs);
  some->columns = parameter->columns;
  some->value = tensor::Tensor(some->rows, some->columns, parameter->value.dtype());
  tensor::visit(some->value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    rows<T>(outputs, T{1}, some->value.matrix<T>());
  });
  return {some, true, in_bf16};
}

}  // namespace zhuyi::ops
