#include "infer/freeze.h"

#include "base/error.h"
#include "kernels/quantize.h"

namespace zhuyi::infer {

std::unique_ptr<nn::Transformer> freeze(const nn::Transformer& full, kernels::Precision precision) {
  using kernels::Precision;
  base::check(full.precision() == Precision::f32,
              "freeze: this model was frozen before; freeze the model that it was made from");
  const auto quantized = [&](const ops::Weight& weight) {
    const ops::Weight original{full.parameters().find(weight.parameter->name), weight.transposed};
    return std::make_shared<const kernels::Int8Matrix>(original.matrix<float>());
  };
  auto frozen = std::make_unique<nn::Transformer>(full.config(), full.bos(), precision, quantized);
  for (const autograd::ParameterPtr& parameter : frozen->parameters().list()) {
    if (!parameter->int8) parameter->value.assign(full.parameters().find(parameter->name)->value);
  }
  if (precision == Precision::bf16) {
    for (const ops::Weight& weight : frozen->weights()) {
      kernels::round_to_bf16(weight.parameter->value.data<float>());
    }
  }
  return frozen;
}

formats::Model freeze(const formats::Model& model, kernels::Precision precision) {
  return {freeze(*model.transformer, precision), model.source, model.target, model.provenance, model.source_scripts};
}

}  // namespace zhuyi::infer
