#include "infer/quantize.h"

#include <utility>

#include "base/error.h"
#include "kernels/quantize.h"

namespace zhuyi::infer {

std::unique_ptr<nn::Transformer> quantize(const nn::Transformer& full, kernels::Precision precision) {
  using kernels::Precision;
  base::check(full.stored_as() == "f32",
              "quantize: this model was quantised before; quantise the model that it was made from");
  const auto storage = [&](const ops::Weight& weight) -> ops::Storage {
    const ops::PlainStorage& declared = weight.declared();
    if (precision != Precision::int8)
      return ops::PlainStorage{declared.parameter, declared.transposed, precision == Precision::bf16};
    return ops::Int8Storage(ops::PlainStorage{full.parameters().find(weight.name()), declared.transposed});
  };
  auto quantized = std::make_unique<nn::Transformer>(full.config(), full.bos(), storage);
  for (const autograd::ParameterPtr& parameter : quantized->parameters().list()) {
    if (parameter->in_block) parameter->value.assign(full.parameters().find(parameter->name)->value);
  }
  if (precision == Precision::bf16) {
    for (const nn::WeightPtr& weight : quantized->weights()) {
      kernels::round_to_bf16(quantized->parameters().find(weight->name())->value.data<float>());
    }
  }
  return quantized;
}

formats::Model quantize(const formats::Model& model, kernels::Precision precision) {
  return {quantize(*model.transformer, precision), model.source, model.target, model.provenance, model.source_scripts};
}

}  // namespace zhuyi::infer
