#include "optim/average.h"

#include "base/error.h"

namespace zhuyi::optim {

using tensor::Tensor;

void Mean::add(const Tensor& block) {
  if (count_ == 0) {
    rows_ = block.rows();
    columns_ = block.columns();
    dtype_ = block.dtype();
    sums_.assign(static_cast<std::size_t>(block.size()), 0);
  }
  base::check(block.rows() == rows_ && block.columns() == columns_ && block.dtype() == dtype_,
              "average: shapes differ, {}[{}, {}] and {}", tensor::name_of(dtype_), rows_, columns_, block.shape());
  tensor::visit(block.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::span<const T> numbers = block.data<T>();
    for (std::size_t i = 0; i < numbers.size(); ++i) sums_[i] += static_cast<double>(numbers[i]);
  });
  ++count_;
}

Tensor Mean::value() const {
  base::check(count_ > 0, "average: no checkpoints");
  Tensor mean(rows_, columns_, dtype_);
  tensor::visit(mean.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> out = mean.data<T>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(sums_[i] / static_cast<double>(count_));
  });
  return mean;
}

Tensor mean_of(std::span<const Tensor> blocks) {
  Mean mean;
  for (const Tensor& block : blocks) mean.add(block);
  return mean.value();
}

}  // namespace zhuyi::optim
