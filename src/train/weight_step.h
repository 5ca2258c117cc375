#pragma once
// What moves the weights in a step: the flat gradient, its norm and clipping, the optimiser, parts that are frozen; and
// the profile of the steps.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "autograd/profile.h"
#include "nn/transformer.h"
#include "optim/optimizers.h"
#include "train/options.h"
#include "train/step_gradient.h"

namespace zhuyi::train {

// Call begin, then add_gradients to gradients(), then move, for every step.
class WeightStep {
 public:
  WeightStep(nn::Transformer& model, const TrainOptions& options);

  // Clears the gradient.
  void begin();
  // Moves the weights along the gradient, which is that of these target tokens, at learning rate `rate`, and says so;
  // unless the loss or the gradient is not finite: then they stay. All processes take the norm of process 0: those of
  // other instruction sets add it up in another order, and would clip to other weights.
  bool move(const StepLoss& loss, double rate, Communicator& processes);

  const optim::Optimizer& optimizer() const { return *optimizer_; }
  optim::Optimizer& optimizer() { return *optimizer_; }
  autograd::Gradients& gradients() { return gradients_; }
  // Of the last step: the norm of the gradient of the mean token loss, before clipping.
  double gradient_norm() const { return gradient_norm_; }

  // Of all steps since it was made, without the first of several, which touches all memory for the first time. Nothing
  // unless the options ask for it.
  const std::optional<autograd::Profile>& profile() const { return profile_; }
  // Where operations of the step under way leave their times: nullptr for nowhere.
  autograd::Profile* running_profile() { return profile_ ? &*profile_ : nullptr; }

 private:
  bool is_frozen(const autograd::Parameter& parameter) const;

  autograd::Parameters& parameters_;
  double clip_;
  std::vector<autograd::ConstParameterPtr> frozen_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  autograd::Gradients gradients_;
  double gradient_norm_ = 0;
  std::int64_t begun_ = 0;
  std::optional<autograd::Profile> profile_;
};

}  // namespace zhuyi::train
