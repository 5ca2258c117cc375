#pragma once
// Adam (Kingma, Ba, 2015) with the paper's settings (5.3), over the flat block of all parameters.

#include <cstdint>

#include "autograd/parameter.h"

namespace zhuyi::optim {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double decay = 0;  // decoupled weight decay (Loshchilov, Hutter, 2019)
};

// The two moments of every parameter and the number of steps taken.
class Adam {
 public:
  Adam(const autograd::Parameters& parameters, const AdamOptions& options);

  // Moves the parameters by one step at learning rate `rate`. Gradients are multiplied by `gradient_scale` first (one
  // over the batch's tokens, clipping).
  void step(const autograd::Parameters& parameters, const autograd::Gradients& gradients, double rate,
            double gradient_scale);

  // The state, to be saved and restored with the model. Same layout as the parameters' flat block.
  const tensor::Tensor& moment1() const { return moment1_; }
  const tensor::Tensor& moment2() const { return moment2_; }
  std::int64_t steps() const { return steps_; }
  void restore(const tensor::Tensor& moment1, const tensor::Tensor& moment2, std::int64_t steps);

 private:
  AdamOptions options_;
  tensor::Tensor moment1_;
  tensor::Tensor moment2_;
  std::int64_t steps_ = 0;
};

// The Euclidean norm of all gradients times `scale`; nan or infinite when one of them is.
double gradient_norm(const autograd::Gradients& gradients, double scale);

// What to multiply gradients of norm `norm` by so that their norm is at most `limit` (Pascanu et al., 2013); 1 for
// limit 0.
double clip_factor(double norm, double limit);

}  // namespace zhuyi::optim
