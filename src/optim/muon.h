#pragma once
// Muon (Jordan et al., 2024): momentum made orthogonal on the matrices of the layers, AdamW elsewhere.

#include <cstdint>
#include <vector>

#include "optim/adam.h"

namespace zhuyi::optim {

struct MuonOptions {
  double momentum = 0.95;
  std::int64_t iterations = 5;  // of Newton-Schulz
};

// Of a matrix of the layers W, gradient g and momentum B: B <- m B + g, and W <- W - rate 0.2 sqrt(longer side)
// orthogonalize(g + m B) (Nesterov's form). The factor gives an update the size of Adam's (Liu et al., "Muon is
// scalable for LLM training", 2025), so that both use one learning rate. Query, key and value are matrices of their
// own. Embeddings, the output projection, gains and biases are moved by Adam. Weight decay is that of `adam`.
class Muon : public Optimizer {
 public:
  Muon(const autograd::Parameters& parameters, const AdamOptions& adam, const MuonOptions& options,
       const Selection& moved = {});

  void step(autograd::Parameters& parameters, const autograd::Gradients& gradients, double rate,
            double gradient_scale) override;

  // "muon.momentum" of the matrices one after another, and Adam's moments of the rest.
  std::vector<StateBlock> state() override;
  std::vector<ConstStateBlock> state() const override;
  std::int64_t steps() const override { return adam_.steps(); }
  void set_steps(std::int64_t steps) override { adam_.set_steps(steps); }

 private:
  template <class T>
  void move(autograd::Parameter& parameter, std::int64_t first, const autograd::Gradients& gradients, double rate,
            double gradient_scale);

  AdamOptions decay_;
  MuonOptions options_;
  Adam adam_;
  // A matrix that it moves: which of the parameters, and where its momentum begins in the block.
  struct Matrix {
    std::size_t parameter = 0;
    std::int64_t first = 0;
  };
  std::vector<Matrix> matrices_;
  tensor::Tensor momentum_;
};

// Whether Muon makes the updates of this parameter orthogonal: a matrix of the encoder's or decoder's layers.
bool is_layer_matrix(const autograd::Parameter& parameter);

}  // namespace zhuyi::optim
