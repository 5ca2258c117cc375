#pragma once
// A trained model made smaller and faster for translating: its weights in 8 bits, or in bf16.

#include <memory>

#include "formats/model_file.h"

namespace zhuyi::infer {

// A copy whose weights() are kept in `precision`: int8 (ops/int8_storage.h), bf16 (rounded to nearest), or f32. Norms,
// biases and learned positions stay f32. Throws invalid_argument for a model that was quantised before.
std::unique_ptr<nn::Transformer> quantize(const nn::Transformer& full, kernels::Precision precision);
// The same with the model's tokenizers, provenance and scripts.
formats::Model quantize(const formats::Model& model, kernels::Precision precision);

}  // namespace zhuyi::infer
