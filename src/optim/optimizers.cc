#include "optim/optimizers.h"

#include "base/error.h"

namespace zhuyi::optim {

std::unique_ptr<Optimizer> make_optimizer(const autograd::Parameters& parameters, const OptimizerOptions& options,
                                          const Selection& moved) {
  if (options.kind == OptimizerKind::muon) {
    return std::make_unique<Muon>(parameters, options.adam, options.muon, moved);
  }
  return std::make_unique<Adam>(parameters, options.adam, moved);
}

std::string name_of(OptimizerKind kind) { return kind == OptimizerKind::muon ? "muon" : "adam"; }

OptimizerKind optimizer_of(const std::string& name) {
  base::check(name == "adam" || name == "muon", "'{}' is not an optimiser; there are: adam, muon", name);
  return name == "muon" ? OptimizerKind::muon : OptimizerKind::adam;
}

}  // namespace zhuyi::optim
