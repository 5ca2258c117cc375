#include "optim/moving_average.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernels/vector.h"

namespace zhuyi::optim {

MovingAverage::MovingAverage(std::unique_ptr<Optimizer> optimizer, const autograd::Parameters& parameters, double decay)
    : optimizer_(std::move(optimizer)), average_(parameters.flat().clone()), decay_(decay) {
  base::check(decay >= 0 && decay < 1, "moving average: a decay of {}, expected at least 0 and less than 1", decay);
}

void MovingAverage::step(autograd::Parameters& parameters, const autograd::Gradients& gradients, double rate,
                         double gradient_scale) {
  optimizer_->step(parameters, gradients, rate, gradient_scale);
  const auto t = static_cast<double>(optimizer_->steps());
  const double decay = std::min(decay_, (1 + t) / (10 + t));
  tensor::visit(average_.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::scale<T>(static_cast<T>(decay), average_.data<T>());
    kernels::add_scaled<T>(static_cast<T>(1 - decay), std::as_const(parameters).flat().data<T>(), average_.data<T>());
  });
}

std::vector<StateBlock> MovingAverage::state() {
  std::vector<StateBlock> blocks = optimizer_->state();
  blocks.push_back({"average", &average_});
  return blocks;
}

std::vector<ConstStateBlock> MovingAverage::state() const {
  std::vector<ConstStateBlock> blocks = std::as_const(*optimizer_).state();
  blocks.push_back({"average", &average_});
  return blocks;
}

AverageInPlace::AverageInPlace(Optimizer& optimizer, autograd::Parameters& parameters)
    : average_(optimizer.average()), weights_(parameters.flat()) {
  exchange();
}

AverageInPlace::~AverageInPlace() { exchange(); }

void AverageInPlace::exchange() {
  if (average_ == nullptr) return;
  tensor::visit(weights_.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto weights = weights_.data<T>();
    std::swap_ranges(weights.begin(), weights.end(), average_->data<T>().begin());
  });
}

}  // namespace zhuyi::optim
