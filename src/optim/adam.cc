#include "optim/adam.h"

#include <cmath>

#include "base/error.h"
#include "kernels/vector.h"

namespace zhuyi::optim {

using tensor::Tensor;
using tensor::visit;

Adam::Adam(const autograd::Parameters& parameters, const AdamOptions& options, const Selection& moved)
    : options_(options) {
  const std::vector<autograd::ParameterPtr>& list = parameters.list();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const autograd::Parameter& parameter = *list[i];
    if (moved && !moved(parameter)) continue;
    // The gap behind a parameter goes with it: its numbers and gradients are zero and stay so.
    const std::int64_t end = i + 1 < list.size() ? list[i + 1]->offset : parameters.flat().size();
    const bool decays = options.decay > 0 && parameter.rows > 1;
    if (!runs_.empty() && runs_.back().end == parameter.offset && runs_.back().decays == decays) {
      runs_.back().end = end;
    } else {
      runs_.push_back({parameter.offset, end, total, decays});
    }
    total += end - parameter.offset;
  }
  moment1_ = Tensor::zeros(1, total, parameters.flat().dtype());
  moment2_ = Tensor::zeros(1, total, parameters.flat().dtype());
}

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
  step.gradient_scale = gradient_scale;
  visit(parameters.flat().dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (const Run& run : runs_) {
      const auto count = static_cast<std::size_t>(run.end - run.begin);
      const auto part = [&](const Tensor& block, std::int64_t begin) {
        return block.data<T>().subspan(static_cast<std::size_t>(begin), count);
      };
      step.decay = run.decays ? options_.decay : 0;
      kernels::adam<T>(step, part(gradients.flat(), run.begin), part(moment1_, run.moments),
                       part(moment2_, run.moments), part(parameters.flat(), run.begin));
    }
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
