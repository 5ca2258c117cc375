#pragma once
// Whether all processes still have the same weights: what differs once, differs more with every step.

#include <cstdint>

#include "tensor/tensor.h"
#include "train/communicator.h"

namespace zhuyi::train {

// Compares a checksum (CRC-32) of the weights after step `step` over all processes. Throws system, in every process,
// naming those whose weights are not those of most (where no majority is: not those of process 0). Called by all.
void check_same_weights(Communicator& processes, const tensor::Tensor& weights, std::int64_t step);

}  // namespace zhuyi::train
