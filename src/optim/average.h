#pragma once
// The mean of several checkpoints' parameters (paper 6.1: the last 5 for base, the last 20 for big).

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace zhuyi::optim {

// The mean of blocks of one shape that come one at a time, so that one of them at most need be in memory. Summed in f64
// in the order of add().
class Mean {
 public:
  // Throws invalid_argument for a shape or dtype that differs from the first one's.
  void add(const tensor::Tensor& block);
  std::int64_t count() const { return count_; }
  // Throws invalid_argument when nothing was added.
  tensor::Tensor value() const;

 private:
  std::vector<double> sums_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  tensor::DType dtype_ = tensor::DType::f32;
  std::int64_t count_ = 0;
};

// Element by element, summed in f64 in the given order. All of one shape; at least one.
tensor::Tensor mean_of(std::span<const tensor::Tensor> blocks);

}  // namespace zhuyi::optim
