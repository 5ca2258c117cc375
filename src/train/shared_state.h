#pragma once
// All processes of a run begin where the first of them is.

#include "autograd/parameter.h"
#include "optim/optimizer.h"
#include "train/checkpoint.h"
#include "train/communicator.h"

namespace zhuyi::train {

// Gives every process the progress, the weights and the state of the optimiser of process 0. Throws, in a process whose
// texts (bad_file) or options (invalid_argument) are not those of process 0, naming the difference.
void share_state(Communicator& processes, autograd::Parameters& parameters, optim::Optimizer& optimizer,
                 Progress& progress);

}  // namespace zhuyi::train
