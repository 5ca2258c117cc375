#pragma once
// What every optimiser is to the training loop: a step over all parameters, and a state that a checkpoint keeps.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/parameter.h"

namespace zhuyi::optim {

// One block of an optimiser's numbers, named as in a checkpoint. T is tensor::Tensor or const.
template <class T>
struct Block {
  std::string name;
  T* values = nullptr;  // the optimiser's own
};
using StateBlock = Block<tensor::Tensor>;
using ConstStateBlock = Block<const tensor::Tensor>;

// Says which parameters something is about.
using Selection = std::function<bool(const autograd::Parameter&)>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Moves the parameters by one step at learning rate `rate`. Gradients are multiplied by `gradient_scale` first (one
  // over the batch's tokens, clipping).
  virtual void step(autograd::Parameters& parameters, const autograd::Gradients& gradients, double rate,
                    double gradient_scale) = 0;

  // Everything but the number of steps that later steps depend on, to be saved with the model and written back.
  virtual std::vector<StateBlock> state() = 0;
  virtual std::vector<ConstStateBlock> state() const = 0;
  virtual std::int64_t steps() const = 0;
  virtual void set_steps(std::int64_t steps) = 0;

  // The weights to judge and to keep in place of the parameters themselves, or nullptr: those themselves.
  virtual tensor::Tensor* average() { return nullptr; }
};

}  // namespace zhuyi::optim
