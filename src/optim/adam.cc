#include "optim/adam.h"

#include <cmath>

#include "base/error.h"
#include "kernels/vector.h"

namespace zhuyi::optim {

using tensor::Tensor;
using tensor::visit;

Adam::Adam(const autograd::Parameters& parameters, const AdamOptions& options)
    : options_(options),
      moment1_(Tensor::zeros(1, parameters.flat().size(), parameters.flat().dtype())),
      moment2_(Tensor::zeros(1, parameters.flat().size(), parameters.flat().dtype())) {}

void Adam::step(const autograd::Parameters& parameters, const autograd::Gradients& gradients, double rate,
                double gradient_scale) {
  ++steps_;
  const auto t = static_cast<double>(steps_);
  kernels::AdamStep step;
  step.rate = rate;
  step.beta1 = options_.beta1;
  step.beta2 = options_.beta2;
  step.epsilon = options_.epsilon;
  step.correction1 = 1 - std::pow(options_.beta1, t);
  step.correction2 = 1 - std::pow(options_.beta2, t);
  step.decay = options_.decay;
  step.gradient_scale = gradient_scale;
  visit(parameters.flat().dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::adam<T>(step, gradients.flat().data<T>(), moment1_.data<T>(), moment2_.data<T>(),
                     parameters.flat().data<T>());
  });
}

void Adam::restore(const Tensor& moment1, const Tensor& moment2, std::int64_t steps) {
  moment1_.assign(moment1);
  moment2_.assign(moment2);
  steps_ = steps;
}

double gradient_norm(const autograd::Gradients& gradients, double scale) {
  return visit(gradients.flat().dtype(), [&](auto zero) {
    using T = decltype(zero);
    return std::sqrt(kernels::sum_of_squares<T>(gradients.flat().data<T>())) * scale;
  });
}

double clip_factor(double norm, double limit) { return limit > 0 && norm > limit ? limit / norm : 1; }

}  // namespace zhuyi::optim
