#pragma once
// The optimisers by name.

#include <memory>
#include <string>

#include "optim/muon.h"

namespace zhuyi::optim {

enum class OptimizerKind { adam, muon };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adam;
  AdamOptions adam;  // of what Muon leaves to Adam, too
  MuonOptions muon;
  double average = 0;  // decay of the moving average of the weights; 0: none is kept
};

// For all parameters, or those for which `moved` holds.
std::unique_ptr<Optimizer> make_optimizer(const autograd::Parameters& parameters, const OptimizerOptions& options,
                                          const Selection& moved = {});

// "adam" or "muon" and back; throws invalid_argument.
std::string name_of(OptimizerKind kind);
OptimizerKind optimizer_of(const std::string& name);

}  // namespace zhuyi::optim
