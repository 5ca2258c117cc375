#pragma once
// The position-wise feed-forward network (paper 3.3): FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, and its gated forms.

#include <optional>
#include <string>

#include "nn/config.h"
#include "nn/linear.h"

namespace zhuyi::nn {

class FeedForward {
 public:
  // Adds `name`.{input,output}.{weight,bias} and, when gated, `name`.gate.{weight,bias}.
  FeedForward(Declarations& model, const std::string& name, const Config& config)
      : input_(model, name + ".input", config.d_model, config.d_ff, config.biases),
        output_(model, name + ".output", config.d_ff, config.d_model, config.biases),
        activation_(config.activation),
        dropout_(config.feed_forward_dropout) {
    if (config.gated) gate_.emplace(model, name + ".gate", config.d_model, config.d_ff, config.biases);
  }

  // [tokens, d_model] -> [tokens, d_model]. Gated: activation(x W_gate) * (x W_input) (Shazeer, 2020).
  Var operator()(const Var& x, Run& run) const {
    const Var inner = input_(x, run);
    const Var active = gate_ ? ops::multiply(ops::activate((*gate_)(x, run), activation_, run), inner, run)
                             : ops::activate(inner, activation_, run);
    return output_(ops::dropout(active, dropout_, run), run);
  }

 private:
  Linear input_;
  Linear output_;
  std::optional<Linear> gate_;
  kernels::Activation activation_;
  double dropout_;
};

}  // namespace zhuyi::nn
