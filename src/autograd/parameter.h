#pragma once
// Parameters: named matrices that live in one flat block, with one flat block of gradients beside it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace zhuyi::autograd {

// How a parameter's first values are drawn.
struct Initialization {
  enum class Kind {
    constant,  // scale itself
    xavier,    // uniform in +- scale * sqrt(6 / (rows + columns)) (Glorot, Bengio, 2010)
    normal,    // mean 0, standard deviation scale
  };
  Kind kind = Kind::constant;
  double scale = 0;
};

// One parameter of a model. Modules share it by pointer (a tied embedding has two owners).
struct Parameter {
  std::string name;  // "encoder.0.self_attention.query.weight"
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Initialization initialization;
  bool in_block = true;     // false: its numbers are kept in another form (ops::Weight), and it has no value
  tensor::Tensor value;     // a view of the flat block, after lay_out
  std::int64_t offset = 0;  // of its first number in the flat blocks
};
using ParameterPtr = std::shared_ptr<Parameter>;
// What modules and passes have: only the owner of Parameters changes values.
using ConstParameterPtr = std::shared_ptr<const Parameter>;

// All parameters of a model, each once, in a fixed order.
class Parameters {
 public:
  // Adds one; throws invalid_argument when the name is taken or a size is not positive.
  ParameterPtr add(std::string name, std::int64_t rows, std::int64_t columns, Initialization initialization);

  // Makes the flat block, gives each parameter that stands in it its offset (aligned to 64 bytes, gaps are zero) and
  // its first values: a function of (seed, name, number in the parameter) alone. Without a seed they are zeros, for
  // values that are read from a file.
  void lay_out(tensor::DType dtype, std::optional<std::uint64_t> seed);

  // Uses another flat block of the same layout for the values, e.g. of another copy of the model. After lay_out.
  void adopt(tensor::Tensor flat);

  const std::vector<ParameterPtr>& list() { return list_; }
  const std::vector<ConstParameterPtr>& list() const { return readers_; }
  // The parameter of that name or nullptr.
  ParameterPtr find(const std::string& name);
  ConstParameterPtr find(const std::string& name) const;
  // The flat block [1, numbers with gaps].
  tensor::Tensor& flat() { return flat_; }
  const tensor::Tensor& flat() const { return flat_; }
  // Numbers without the gaps.
  std::int64_t count() const;

 private:
  std::vector<ParameterPtr> list_;
  std::vector<ConstParameterPtr> readers_;  // the same
  tensor::Tensor flat_;
};

// The gradients of all parameters, in the layout of their flat block.
class Gradients {
 public:
  // Zeros.
  explicit Gradients(const Parameters& parameters);

  tensor::Tensor& flat() { return flat_; }
  const tensor::Tensor& flat() const { return flat_; }
  // The part that belongs to `parameter`, as a view.
  tensor::Tensor of(const Parameter& parameter);
  const tensor::Tensor of(const Parameter& parameter) const;
  void clear() { flat_.fill(0); }

 private:
  tensor::Tensor flat_;
};

}  // namespace zhuyi::autograd
