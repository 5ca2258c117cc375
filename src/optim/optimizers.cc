#include "optim/optimizers.h"

#include <utility>

#include "base/error.h"
#include "optim/moving_average.h"

namespace zhuyi::optim {

std::unique_ptr<Optimizer> make_optimizer(const autograd::Parameters& parameters, const OptimizerOptions& options,
                                          const Selection& moved) {
  std::unique_ptr<Optimizer> optimizer;
  if (options.kind == OptimizerKind::muon) {
    optimizer = std::make_unique<Muon>(parameters, options.adam, options.muon, moved);
  } else {
    optimizer = std::make_unique<Adam>(parameters, options.adam, moved);
  }
  if (options.average == 0) return optimizer;
  return std::make_unique<MovingAverage>(std::move(optimizer), parameters, options.average);
}

std::string name_of(OptimizerKind kind) { return kind == OptimizerKind::muon ? "muon" : "adam"; }

OptimizerKind optimizer_of(const std::string& name) {
  base::check(name == "adam" || name == "muon", "'{}' is not an optimiser; there are: adam, muon", name);
  return name == "muon" ? OptimizerKind::muon : OptimizerKind::adam;
}

}  // namespace zhuyi::optim
