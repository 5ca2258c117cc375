#pragma once
// A learned linear map, y = x W + b: the projections of 3.2.2, both halves of 3.3.

#include <string>

#include "nn/declarations.h"

namespace zhuyi::nn {

// W [in, out] is drawn by Xavier, times `gain`; b is zero.
class Linear {
 public:
  // Adds `name`.weight and, with a bias, `name`.bias.
  Linear(Declarations& model, const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias,
         double gain = 1)
      : weight_(model.weight(name + ".weight", inputs, outputs, gain)),
        bias_(bias ? model.parameters.add(name + ".bias", 1, outputs, {}) : nullptr) {}

  // [tokens, in] -> [tokens, out].
  Var operator()(const Var& x, Run& run) const { return ops::linear(x, *weight_, bias_, run); }

  const ops::Weight& weight() const { return *weight_; }

 private:
  WeightPtr weight_;
  ConstParameterPtr bias_;
};

}  // namespace zhuyi::nn
