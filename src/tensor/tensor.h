#pragma once
// Tensors of rank 2: a matrix of token rows [tokens, width]. A vector is one row, a number is 1 x 1.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/matrix.h"
#include "kernels/quantize.h"

namespace zhuyi::tensor {

// What the numbers are in memory. bf16 is for keeping numbers, not for computing with them.
enum class DType { f32, f64, bf16 };

// The DType of a C++ type.
template <class T>
constexpr DType dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, kernels::Bf16>);
  return std::is_same_v<T, float> ? DType::f32 : std::is_same_v<T, double> ? DType::f64 : DType::bf16;
}

constexpr std::int64_t bytes_of(DType dtype) { return dtype == DType::f32 ? 4 : dtype == DType::f64 ? 8 : 2; }
std::string name_of(DType dtype);

// Calls body with a float or a double, by the dtype: visit(x.dtype(), [&](auto zero) { using T = decltype(zero); ...
// }). Throws internal for bf16.
template <class Body>
auto visit(DType dtype, Body&& body) {
  base::check_kind(dtype != DType::bf16, base::ErrorKind::internal, "tensor: arithmetic in bf16; expected f32 or f64");
  return dtype == DType::f32 ? body(float{}) : body(double{});
}

// Bytes aligned to 64, shared by the tensors that look into them: memory of our own or a part of a mapped file.
class Storage {
 public:
  // Memory of our own, not initialised. Throws system when there is none.
  static std::shared_ptr<Storage> allocate(std::int64_t bytes);
  // Bytes that `owner` keeps alive.
  static std::shared_ptr<Storage> adopt(std::byte* data, std::int64_t bytes, std::shared_ptr<const void> owner);

  std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::shared_ptr<const void> owner_;
};

// A dense row-major matrix. Copies share the numbers (like a span); clone() copies them. A const tensor, and what is
// sliced from it, shows its numbers as const: whoever is given one reads.
class Tensor {
 public:
  Tensor() = default;
  // Not initialised.
  Tensor(std::int64_t rows, std::int64_t columns, DType dtype = DType::f32);
  Tensor(std::shared_ptr<Storage> storage, std::int64_t byte_offset, std::int64_t rows, std::int64_t columns,
         DType dtype);

  static Tensor zeros(std::int64_t rows, std::int64_t columns, DType dtype = DType::f32);
  static Tensor full(std::int64_t rows, std::int64_t columns, double value, DType dtype = DType::f32);
  // Row-major values; throws invalid_argument when there are not rows * columns of them.
  static Tensor of(std::int64_t rows, std::int64_t columns, const std::vector<double>& values,
                   DType dtype = DType::f32);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t size() const { return rows_ * columns_; }
  DType dtype() const { return dtype_; }
  bool empty() const { return size() == 0; }
  // "f32[3, 512]", for messages.
  std::string shape() const;

  // The numbers, row after row. Throws internal when T is not the dtype.
  template <class T>
  std::span<T> data() {
    return {numbers<T>(), static_cast<std::size_t>(size())};
  }
  template <class T>
  std::span<const T> data() const {
    return {numbers<T>(), static_cast<std::size_t>(size())};
  }
  template <class T>
  kernels::Matrix<T> matrix() {
    return kernels::Matrix<T>::dense(numbers<T>(), rows_, columns_);
  }
  template <class T>
  kernels::ConstMatrix<T> matrix() const {
    return kernels::ConstMatrix<T>::dense(numbers<T>(), rows_, columns_);
  }
  // One number, as a double. Bounds are checked.
  double at(std::int64_t row, std::int64_t column) const;

  // Rows [begin, end): a view of the same numbers.
  Tensor slice(std::int64_t begin, std::int64_t end) { return rows_between(begin, end); }
  const Tensor slice(std::int64_t begin, std::int64_t end) const { return rows_between(begin, end); }
  // The same numbers as rows x columns.
  Tensor reshape(std::int64_t rows, std::int64_t columns) { return shaped(rows, columns); }
  const Tensor reshape(std::int64_t rows, std::int64_t columns) const { return shaped(rows, columns); }
  // A copy of the numbers.
  Tensor clone() const;
  // A copy with another dtype; between bf16 and f64 there is no way.
  Tensor to(DType dtype) const;
  void fill(double value);
  // Copies the numbers of a tensor of the same shape and dtype over these.
  void assign(const Tensor& other);
  // Copies rows [begin, end) over those from `to` on, at or before `begin`; they may overlap.
  void move_rows(std::int64_t begin, std::int64_t end, std::int64_t to);

 private:
  std::byte* pointer() const { return storage_ ? storage_->data() + byte_offset_ : nullptr; }
  template <class T>
  T* numbers() const {
    base::check_kind(dtype_of<T>() == dtype_, base::ErrorKind::internal, "tensor: {} read as {}", shape(),
                     name_of(dtype_of<T>()));
    return reinterpret_cast<T*>(pointer());
  }
  Tensor rows_between(std::int64_t begin, std::int64_t end) const;
  Tensor shaped(std::int64_t rows, std::int64_t columns) const;

  std::shared_ptr<Storage> storage_;
  std::int64_t byte_offset_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  DType dtype_ = DType::f32;
};

}  // namespace zhuyi::tensor
