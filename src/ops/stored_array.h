#pragma once
// The arrays that a weight's storage is in a model file, without knowing what files are like.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "tensor/tensor.h"

namespace zhuyi::ops {

// One of them, to be written under the weight's name and `suffix`.
struct StoredArray {
  std::string suffix;
  std::variant<tensor::Tensor, std::span<const std::int8_t>, std::span<const std::int32_t>> numbers;
  bool in_bf16 = false;  // of a tensor: every number is one of bf16, and two bytes will do
};

// Where they are read from. Spans stay valid as long as owner() lives; every function throws bad_model for an array
// that is not there or of another type.
class ArraySource {
 public:
  virtual ~ArraySource() = default;
  virtual std::span<const std::int8_t> bytes(const std::string& name) const = 0;
  virtual std::span<const std::int32_t> integers(const std::string& name) const = 0;
  virtual std::span<const float> numbers(const std::string& name) const = 0;
  virtual std::shared_ptr<const void> owner() const = 0;
};

}  // namespace zhuyi::ops
