#include "train/weight_step.h"

#include <algorithm>
#include <cmath>

#include "optim/adam.h"
#include "optim/freeze.h"

namespace zhuyi::train {

using autograd::Operation;
using autograd::Pass;
using autograd::Timing;

WeightStep::WeightStep(nn::Transformer& model, const TrainOptions& options)
    : parameters_(model.parameters()),
      clip_(options.clip),
      frozen_(optim::frozen_parameters(parameters_, options.freeze)),
      optimizer_(optim::make_optimizer(parameters_, options.optimizer,
                                       [&](const autograd::Parameter& parameter) { return !is_frozen(parameter); })),
      gradients_(parameters_) {
  if (options.profile) profile_.emplace();
}

bool WeightStep::is_frozen(const autograd::Parameter& parameter) const {
  return std::any_of(frozen_.begin(), frozen_.end(), [&](const auto& frozen) { return frozen.get() == &parameter; });
}

void WeightStep::begin() {
  ++begun_;
  if (profile_) {
    if (begun_ == 2) profile_.emplace();
    profile_->begin_step();
  }
  const Timing timing(running_profile(), Operation::optimizer, Pass::forward);
  gradients_.clear();
}

bool WeightStep::move(const StepLoss& loss, double rate, Communicator& processes) {
  bool finite = loss.not_finite.empty();
  {
    const Timing timing(running_profile(), Operation::optimizer, Pass::forward);
    for (const autograd::ConstParameterPtr& parameter : frozen_) gradients_.of(*parameter).fill(0);
    const double scale = 1.0 / static_cast<double>(loss.target_tokens);
    gradient_norm_ = broadcast(processes, optim::gradient_norm(gradients_, scale));
    finite = finite && std::isfinite(gradient_norm_);
    if (finite) optimizer_->step(parameters_, gradients_, rate, scale * optim::clip_factor(gradient_norm_, clip_));
  }
  if (profile_) profile_->end_step();
  return finite;
}

}  // namespace zhuyi::train
