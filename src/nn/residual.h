#pragma once
// What stands around every sub-layer: residual connection, dropout and normalisation (paper 3.1 and 5.4).

#include <optional>
#include <string>

#include "nn/config.h"
#include "nn/linear.h"

namespace zhuyi::nn {

// Layer norm or RMS norm with its gain (and bias), over each token's vector.
class Norm {
 public:
  // Adds `name`.gain and, for layer norm, `name`.bias.
  Norm(Declarations& model, const std::string& name, const Config& config)
      : gain_(model.parameters.add(name + ".gain", 1, config.d_model, {Initialization::Kind::constant, 1})),
        bias_(config.norm == NormKind::layer ? model.parameters.add(name + ".bias", 1, config.d_model, {}) : nullptr),
        epsilon_(config.norm_epsilon) {}

  Var operator()(const Var& x, Run& run) const {
    return bias_ ? ops::layer_norm(x, gain_, bias_, epsilon_, run) : ops::rms_norm(x, gain_, epsilon_, run);
  }

 private:
  ConstParameterPtr gain_;
  ConstParameterPtr bias_;
  double epsilon_;
};

// LayerNorm(x + Dropout(Sublayer(x))) (paper 3.1, post-norm), or x + Dropout(Sublayer(LayerNorm(x))) (pre-norm).
class Residual {
 public:
  // Adds the norm's parameters under `name`.
  Residual(Declarations& model, const std::string& name, const Config& config)
      : norm_(model, name, config), placement_(config.norm_placement), dropout_(config.dropout) {}

  // sublayer(x) gives a Var of the shape of x.
  template <class Sublayer>
  Var operator()(const Var& x, const Sublayer& sublayer, Run& run) const {
    if (placement_ == NormPlacement::pre) return ops::add_dropout(x, sublayer(norm_(x, run)), dropout_, run);
    return norm_(ops::add_dropout(x, sublayer(x), dropout_, run), run);
  }

 private:
  Norm norm_;
  NormPlacement placement_;
  double dropout_;
};

}  // namespace zhuyi::nn
