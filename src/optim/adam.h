#pragma once
// Adam (Kingma, Ba, 2015) with the paper's settings (5.3), over the flat block of all parameters.

#include <cstdint>
#include <vector>

#include "optim/optimizer.h"

namespace zhuyi::optim {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double decay = 0;  // decoupled weight decay (Loshchilov, Hutter, 2019), of matrices; never of gains and biases
};

// The two moments of every parameter it moves, and the number of steps taken.
class Adam : public Optimizer {
 public:
  // Of all parameters, or of those for which `moved` holds; the others stay as they are and cost no memory.
  Adam(const autograd::Parameters& parameters, const AdamOptions& options, const Selection& moved = {});

  void step(const autograd::Parameters& parameters, const autograd::Gradients& gradients, double rate,
            double gradient_scale) override;

  // "adam.moment1" and "adam.moment2". Of all parameters: in the layout of their flat block.
  std::vector<StateBlock> state() const override { return {{"adam.moment1", moment1_}, {"adam.moment2", moment2_}}; }
  std::int64_t steps() const override { return steps_; }
  void set_steps(std::int64_t steps) override { steps_ = steps; }

  const tensor::Tensor& moment1() const { return moment1_; }
  const tensor::Tensor& moment2() const { return moment2_; }
  void restore(const tensor::Tensor& moment1, const tensor::Tensor& moment2, std::int64_t steps);

 private:
  // Neighbours in the flat block that are treated alike, and where their moments begin.
  struct Run {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t moments = 0;
    bool decays = false;
  };

  AdamOptions options_;
  std::vector<Run> runs_;
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
