#pragma once
// The exponential moving average of the parameters (Polyak, Juditsky, 1992), kept beside any optimiser.

#include <memory>
#include <vector>

#include "optim/optimizer.h"

namespace zhuyi::optim {

// An optimiser that averages what another one does: after each step E <- d E + (1 - d) W. The decay d of step t is
// (1 + t) / (10 + t) until that reaches `decay`, so that the average is not held back by the first weights.
class MovingAverage : public Optimizer {
 public:
  // Starts from the parameters as they are. Throws invalid_argument for a decay outside [0, 1).
  MovingAverage(std::unique_ptr<Optimizer> optimizer, const autograd::Parameters& parameters, double decay);

  void step(autograd::Parameters& parameters, const autograd::Gradients& gradients, double rate,
            double gradient_scale) override;

  // The other optimiser's, and "average".
  std::vector<StateBlock> state() override;
  std::vector<ConstStateBlock> state() const override;
  std::int64_t steps() const override { return optimizer_->steps(); }
  void set_steps(std::int64_t steps) override { optimizer_->set_steps(steps); }

  // E, in the layout of the flat block.
  tensor::Tensor* average() override { return &average_; }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  tensor::Tensor average_;
  double decay_;
};

// While it lives, the parameters are the average and the average holds the parameters: both are written. Does nothing
// for an optimiser without one.
class AverageInPlace {
 public:
  AverageInPlace(Optimizer& optimizer, autograd::Parameters& parameters);
  ~AverageInPlace();
  AverageInPlace(const AverageInPlace&) = delete;
  AverageInPlace& operator=(const AverageInPlace&) = delete;

 private:
  void exchange();

  tensor::Tensor* average_;
  tensor::Tensor& weights_;
};

}  // namespace zhuyi::optim
