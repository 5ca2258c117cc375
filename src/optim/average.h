#pragma once
// The mean of several checkpoints' parameters (paper 6.1: the last 5 for base, the last 20 for big).

#include <span>

#include "tensor/tensor.h"

namespace zhuyi::optim {

// Element by element, summed in f64 in the given order. All of one shape; at least one.
tensor::Tensor mean_of(std::span<const tensor::Tensor> blocks);

}  // namespace zhuyi::optim
