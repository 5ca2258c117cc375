#include "optim/average.h"

#include <vector>

#include "base/error.h"

namespace zhuyi::optim {

using tensor::Tensor;

Tensor mean_of(std::span<const Tensor> blocks) {
  base::check(!blocks.empty(), "average: no checkpoints");
  for (const Tensor& block : blocks) {
    base::check(block.shape() == blocks[0].shape(), "average: shapes differ, {} and {}", blocks[0].shape(),
                block.shape());
  }
  Tensor mean(blocks[0].rows(), blocks[0].columns(), blocks[0].dtype());
  tensor::visit(mean.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> out = mean.data<T>();
    std::vector<std::span<T>> numbers;
    for (const Tensor& block : blocks) numbers.push_back(block.data<T>());
    for (std::size_t i = 0; i < out.size(); ++i) {
      double sum = 0;
      for (const std::span<T>& block : numbers) sum += static_cast<double>(block[i]);
      out[i] = static_cast<T>(sum / static_cast<double>(blocks.size()));
    }
  });
  return mean;
}

}  // namespace zhuyi::optim
