#pragma once
// The precision of a run's products, decided once when the run begins.

#include <optional>
#include <string>

#include "kernels/gemm.h"
#include "train/communicator.h"

namespace zhuyi::train {

// What the options ask for; else what the run has been computed in so far, by the options that process 0 found in its
// checkpoint (train/options.h; "" for a new run); else bf16 if all processes multiply it, and f32 if not. Called by all
// processes; `has_bf16` is what this one can do. Throws unsupported in a process that cannot do what was decided.
kernels::Precision decided_precision(Communicator& processes, std::optional<kernels::Precision> asked,
                                     const std::string& saved_options,
                                     bool has_bf16 = kernels::has_precision(kernels::Precision::bf16));

}  // namespace zhuyi::train
