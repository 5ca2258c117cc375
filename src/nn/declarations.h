#pragma once
// What the modules of a model declare while it is built: its parameters, and which of them products are with.

#include <memory>
#include <string>
#include <vector>

#include "ops/ops.h"

namespace zhuyi::nn {

using autograd::ConstParameterPtr;
using autograd::Initialization;
using autograd::Run;
using autograd::Var;

// Modules keep a weight by pointer: how its numbers are kept is decided later, for the whole model (ops::Weight::keep).
using WeightPtr = std::shared_ptr<const ops::Weight>;

class Declarations {
 public:
  // A matrix [inputs, outputs] to multiply by, drawn by Xavier times `gain`.
  WeightPtr weight(const std::string& name, std::int64_t inputs, std::int64_t outputs, double gain) {
    return add(parameters.add(name, inputs, outputs, {Initialization::Kind::xavier, gain}), false);
  }
  // A table [pieces, width] of embeddings, which is also an output projection; drawn normally with deviation
  // width^-0.5.
  WeightPtr table(const std::string& name, std::int64_t pieces, std::int64_t width);

  autograd::Parameters parameters;                    // all of them, those of the weights too
  std::vector<std::shared_ptr<ops::Weight>> weights;  // each once, in the order they were declared

 private:
  WeightPtr add(ConstParameterPtr parameter, bool transposed) {
    return weights.emplace_back(std::make_shared<ops::Weight>(std::move(parameter), transposed));
  }
};

}  // namespace zhuyi::nn
