#pragma once
// How the numbers of a weight are kept: as learnt, packed for inference, in 8 bits. Each kind is one file.
//
// A kind S keeps a matrix [inputs, outputs] and has
//   void product(ConstMatrix<float> x, Matrix<float> out, const GemmOptions<float>& options) const
//       out = x W (+ options.bias), x [tokens, inputs], out [tokens, outputs]; a row of out depends on its row of x
//       alone
//   void rows(std::span<const std::int32_t> outputs, float factor, Matrix<float> to) const
//       to's row i = factor * the numbers of outputs[i], [*, inputs]: embeddings, where the outputs are pieces
//   S subset(std::span<const std::int32_t> outputs) const
//       these outputs, in this order, with the same numbers; outputs in [0, all of them)
//   std::string_view name() const
//       the word for it in model files and reports; read_storage knows it again
//   std::vector<StoredArray> arrays() const
//       what a model file keeps of it
//   tensor::DType kept() const
//       in which keys and values that it gives are kept while decoding
// A new kind is a file with these functions, its name in `Storage`, its line in read_storage, and a row in
// tests/ops/storage_cases.h.

#include <string>
#include <string_view>
#include <variant>

#include "ops/int8_storage.h"
#include "ops/packed_storage.h"
#include "ops/plain_storage.h"

namespace zhuyi::ops {

using Storage = std::variant<PlainStorage, PackedStorage, Int8Storage>;

// The storage that a file calls `name`, of the weight that `declared` describes, from the file's arrays. A plain one
// is to be filled in afterwards. Throws bad_model for a name that there is not, and for arrays that do not fit.
Storage read_storage(std::string_view name, const PlainStorage& declared, const ArraySource& arrays);

}  // namespace zhuyi::ops
