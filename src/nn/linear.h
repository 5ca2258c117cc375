#pragma once
// A learned linear map, y = x W + b: the projections of 3.2.2, both halves of 3.3, the output projection of 3.4.

#include <string>

#include "ops/ops.h"

namespace zhuyi::nn {

using autograd::ParameterPtr;
using autograd::Parameters;
using autograd::Run;
using autograd::Var;

// W [in, out] is drawn by Xavier, times `gain`; b is zero.
class Linear {
 public:
  // Adds `name`.weight and, with a bias, `name`.bias.
  Linear(Parameters& parameters, const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias,
         double gain = 1)
      : weight_{parameters.add(name + ".weight", inputs, outputs, {autograd::Initialization::Kind::xavier, gain})},
        bias_(bias ? parameters.add(name + ".bias", 1, outputs, {}) : nullptr) {}

  // [tokens, in] -> [tokens, out].
  Var operator()(const Var& x, Run& run) const { return ops::linear(x, weight_, bias_, run); }

  // Stores the weight for fast inference; see ops::Weight::pack.
  void pack(kernels::Precision precision) { weight_.pack(precision); }

 private:
  ops::Weight weight_;
  ParameterPtr bias_;
};

}  // namespace zhuyi::nn
