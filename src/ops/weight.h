#pragma once
// The right-hand side of a product, and the seam for precision: how its numbers are kept and multiplied is asked here
// and nowhere else.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm.h"
#include "ops/storage.h"

namespace zhuyi::ops {

class Weight {
 public:
  // The parameter's own numbers: [inputs, outputs], or [outputs, inputs] when transposed, a table of outputs.
  explicit Weight(ConstParameterPtr parameter, bool transposed = false)
      : declared_{std::move(parameter), transposed}, storage_(declared_) {}

  const std::string& name() const { return declared_.parameter->name; }
  std::int64_t inputs() const { return declared_.inputs(); }
  std::int64_t outputs() const { return declared_.outputs(); }
  // The parameter and which way it lies, whatever became of its numbers.
  const PlainStorage& declared() const { return declared_; }
  // The parameter's own numbers, which can be learnt, or nullptr when they are kept in another form alone.
  const PlainStorage* plain() const;

  // out = x W (+ options.bias): x [tokens, inputs], out [tokens, outputs]. `recording`: with the numbers that are
  // learnt, in the precision of train_in; throws invalid_argument when there are none. T is float or, of plain numbers,
  // double.
  template <class T>
  void product(kernels::ConstMatrix<T> x, kernels::Matrix<T> out, const kernels::GemmOptions<T>& options,
               bool recording) const;
  // to's row i = factor * the numbers of outputs[i]: an embedding. Only of a table. T as above.
  template <class T>
  void rows(std::span<const std::int32_t> outputs, T factor, kernels::Matrix<T> to) const;
  // A copy of some of the outputs, kept as this one is. Only of a table.
  Weight subset(std::span<const std::int32_t> outputs) const;

  // "f32", "bf16" or "int8", and what a model file keeps.
  std::string_view stored_as() const;
  std::vector<StoredArray> arrays() const;
  // What embeddings of it are made of; and what keys and values that it gives are kept in while decoding.
  tensor::DType dtype() const;
  tensor::DType kept() const;

  // From now on the numbers are kept so.
  void keep(Storage storage) { storage_ = std::move(storage); }
  // Packs plain numbers; see PackedStorage.
  void pack();
  // What products that are recorded are computed in, forward and backward, when they are f32: f32 or bf16.
  void train_in(kernels::Precision precision) { trained_in_ = precision; }
  kernels::Precision precision(bool recording) const { return recording ? trained_in_ : kernels::Precision::f32; }

 private:
  PlainStorage declared_;
  Storage storage_;
  kernels::Precision trained_in_ = kernels::Precision::f32;
};

}  // namespace zhuyi::ops
