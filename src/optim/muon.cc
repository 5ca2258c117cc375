#include "optim/muon.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/vector.h"
#include "optim/orthogonal.h"

namespace zhuyi::optim {

using autograd::Parameter;
using tensor::Tensor;

bool is_layer_matrix(const Parameter& parameter) {
  return parameter.rows > 1 && parameter.columns > 1 &&
         (parameter.name.starts_with("encoder.") || parameter.name.starts_with("decoder."));
}

Muon::Muon(const autograd::Parameters& parameters, const AdamOptions& adam, const MuonOptions& options,
           const Selection& moved)
    : decay_(adam), options_(options), adam_(parameters, adam, [&](const Parameter& parameter) {
        return !is_layer_matrix(parameter) && (!moved || moved(parameter));
      }) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < parameters.list().size(); ++i) {
    const Parameter& parameter = *parameters.list()[i];
    if (!is_layer_matrix(parameter) || (moved && !moved(parameter))) continue;
    matrices_.push_back({i, total});
    total += parameter.rows * parameter.columns;
  }
  momentum_ = Tensor::zeros(1, total, parameters.flat().dtype());
}

// One matrix: rate and scale as in step().
template <class T>
void Muon::move(Parameter& parameter, std::int64_t first, const autograd::Gradients& gradients, double rate,
                double gradient_scale) {
  const std::int64_t size = parameter.rows * parameter.columns;
  const Tensor own = gradients.of(parameter);
  const std::span<const T> gradient = own.data<T>();
  const auto momentum = momentum_.data<T>().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size));
  const auto scale = static_cast<T>(gradient_scale);
  const auto keep = static_cast<T>(options_.momentum);
  kernels::scale<T>(keep, momentum);
  kernels::add_scaled<T>(scale, gradient, momentum);
  Tensor update(parameter.rows, parameter.columns, parameter.value.dtype());
  const auto numbers = update.data<T>();
  std::copy(momentum.begin(), momentum.end(), numbers.begin());
  kernels::scale<T>(keep, numbers);
  kernels::add_scaled<T>(scale, gradient, numbers);
  orthogonalize<T>(update.matrix<T>(), options_.iterations);
  const auto longer = static_cast<double>(std::max(parameter.rows, parameter.columns));
  if (decay_.decay > 0) kernels::scale<T>(static_cast<T>(1 - rate * decay_.decay), parameter.value.data<T>());
  kernels::add_scaled<T>(static_cast<T>(-rate * 0.2 * std::sqrt(longer)), numbers, parameter.value.data<T>());
}

void Muon::step(autograd::Parameters& parameters, const autograd::Gradients& gradients, double rate,
                double gradient_scale) {
  adam_.step(parameters, gradients, rate, gradient_scale);
  const auto count = static_cast<std::int64_t>(matrices_.size());
  const auto move_range = [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      tensor::visit(momentum_.dtype(), [&](auto zero) {
        move<decltype(zero)>(*parameters.list()[matrices_[i].parameter], matrices_[i].first, gradients, rate,
                             gradient_scale);
      });
    }
  };
  // A matrix a thread wastes nothing on waiting; with few matrices the threads share each product instead.
  if (count >= 2 * base::threads()) {
    base::parallel_for(count, 1, move_range);
  } else {
    move_range(0, count);
  }
}

std::vector<StateBlock> Muon::state() {
  std::vector<StateBlock> blocks = adam_.state();
  blocks.push_back({"muon.momentum", &momentum_});
  return blocks;
}

std::vector<ConstStateBlock> Muon::state() const {
  std::vector<ConstStateBlock> blocks = adam_.state();
  blocks.push_back({"muon.momentum", &momentum_});
  return blocks;
}

}  // namespace zhuyi::optim
