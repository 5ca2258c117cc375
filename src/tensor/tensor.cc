#include "tensor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>

#include "base/parallel.h"

namespace zhuyi::tensor {

using base::check;

namespace {

// The bytes of a matrix. Throws for sizes that are negative or whose product is beyond what can be counted.
std::int64_t bytes_for(std::int64_t rows, std::int64_t columns, DType dtype) {
  check(rows >= 0 && columns >= 0, "tensor: {} rows and {} columns", rows, columns);
  check(columns == 0 || rows <= std::numeric_limits<std::int64_t>::max() / 16 / columns,
        "tensor: {} rows of {} columns are too many", rows, columns);
  return rows * columns * bytes_of(dtype);
}

// Calls body(begin, count) for parts of [0, size), on all threads where that is worth while: one core alone does not
// keep the memory busy.
template <class Body>
void in_pieces(std::int64_t size, const Body& body) {
  constexpr std::int64_t kPiece = 1 << 16;
  base::parallel_for(size, kPiece, [&](std::int64_t begin, std::int64_t end) {
    body(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

std::string name_of(DType dtype) { return dtype == DType::f32 ? "f32" : dtype == DType::f64 ? "f64" : "bf16"; }

std::shared_ptr<Storage> Storage::allocate(std::int64_t bytes) {
  auto storage = std::make_shared<Storage>();
  const std::size_t rounded = (static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)) + 63) / 64 * 64;
  void* memory = std::aligned_alloc(64, rounded);
  base::check_kind(memory != nullptr, base::ErrorKind::system, "out of memory: {} bytes asked for", bytes);
  storage->data_ = static_cast<std::byte*>(memory);
  storage->bytes_ = bytes;
  storage->owner_ = std::shared_ptr<const void>(memory, [](const void* data) { std::free(const_cast<void*>(data)); });
  return storage;
}

std::shared_ptr<Storage> Storage::adopt(std::byte* data, std::int64_t bytes, std::shared_ptr<const void> owner) {
  auto storage = std::make_shared<Storage>();
  storage->data_ = data;
  storage->bytes_ = bytes;
  storage->owner_ = std::move(owner);
  return storage;
}

Tensor::Tensor(std::int64_t rows, std::int64_t columns, DType dtype)
    : Tensor(Storage::allocate(bytes_for(rows, columns, dtype)), 0, rows, columns, dtype) {}

Tensor::Tensor(std::shared_ptr<Storage> storage, std::int64_t byte_offset, std::int64_t rows, std::int64_t columns,
               DType dtype)
    : storage_(std::move(storage)), byte_offset_(byte_offset), rows_(rows), columns_(columns), dtype_(dtype) {
  check(byte_offset >= 0 && bytes_for(rows, columns, dtype) <= storage_->bytes() - byte_offset,
        "tensor: {} does not fit at byte {} of a storage of {} bytes", shape(), byte_offset, storage_->bytes());
}

Tensor Tensor::zeros(std::int64_t rows, std::int64_t columns, DType dtype) { return full(rows, columns, 0, dtype); }

Tensor Tensor::full(std::int64_t rows, std::int64_t columns, double value, DType dtype) {
  Tensor tensor(rows, columns, dtype);
  tensor.fill(value);
  return tensor;
}

Tensor Tensor::of(std::int64_t rows, std::int64_t columns, const std::vector<double>& values, DType dtype) {
  check(static_cast<std::int64_t>(values.size()) == rows * columns, "tensor: {} values for {} rows and {} columns",
        values.size(), rows, columns);
  Tensor tensor(rows, columns, dtype);
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::transform(values.begin(), values.end(), tensor.data<T>().begin(), [](double v) { return static_cast<T>(v); });
  });
  return tensor;
}

std::string Tensor::shape() const { return fmt::format("{}[{}, {}]", name_of(dtype_), rows_, columns_); }

double Tensor::at(std::int64_t row, std::int64_t column) const {
  check(row >= 0 && row < rows_ && column >= 0 && column < columns_, "tensor: ({}, {}) is outside {}", row, column,
        shape());
  if (dtype_ == DType::bf16) return slice(row, row + 1).to(DType::f32).at(0, column);
  return visit(dtype_, [&](auto zero) {
    using T = decltype(zero);
    return static_cast<double>(data<T>()[static_cast<std::size_t>(row * columns_ + column)]);
  });
}

Tensor Tensor::rows_between(std::int64_t begin, std::int64_t end) const {
  check(begin >= 0 && begin <= end && end <= rows_, "slice: rows {} to {} of {}", begin, end, shape());
  return Tensor(storage_, byte_offset_ + begin * columns_ * bytes_of(dtype_), end - begin, columns_, dtype_);
}

Tensor Tensor::shaped(std::int64_t rows, std::int64_t columns) const {
  check(rows * columns == size(), "reshape: {} to {} rows and {} columns", shape(), rows, columns);
  return Tensor(storage_, byte_offset_, rows, columns, dtype_);
}

Tensor Tensor::clone() const {
  Tensor copy(rows_, columns_, dtype_);
  copy.assign(*this);
  return copy;
}

Tensor Tensor::to(DType dtype) const {
  Tensor copy(rows_, columns_, dtype);
  if (dtype == dtype_) {
    copy.assign(*this);
    return copy;
  }
  if (dtype_ == DType::f32 && dtype == DType::bf16) {
    kernels::to_bf16(data<float>(), copy.data<kernels::Bf16>());
    return copy;
  }
  if (dtype_ == DType::bf16 && dtype == DType::f32) {
    kernels::from_bf16(data<kernels::Bf16>(), copy.data<float>());
    return copy;
  }
  visit(dtype_, [&](auto from) {
    using From = decltype(from);
    visit(dtype, [&](auto to) {
      using To = decltype(to);
      std::ranges::transform(data<From>(), copy.data<To>().begin(), [](From v) { return static_cast<To>(v); });
    });
  });
  return copy;
}

void Tensor::fill(double value) {
  visit(dtype_, [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> numbers = data<T>();
    in_pieces(size(), [&](std::size_t begin, std::size_t count) {
      std::fill_n(numbers.data() + begin, count, static_cast<T>(value));
    });
  });
}

void Tensor::assign(const Tensor& other) {
  check(other.rows_ == rows_ && other.columns_ == columns_ && other.dtype_ == dtype_, "assign: {} to {}", other.shape(),
        shape());
  const auto width = static_cast<std::size_t>(bytes_of(dtype_));
  in_pieces(size(), [&](std::size_t begin, std::size_t count) {
    std::copy_n(other.pointer() + begin * width, count * width, pointer() + begin * width);
  });
}

void Tensor::move_rows(std::int64_t begin, std::int64_t end, std::int64_t to) {
  check(to >= 0 && to <= begin && begin <= end && end <= rows_, "move_rows: rows {} to {} of {} to {}", begin, end,
        shape(), to);
  const std::int64_t width = columns_ * bytes_of(dtype_);
  if (to == begin || end == begin || width == 0) return;
  std::copy(pointer() + begin * width, pointer() + end * width, pointer() + to * width);
}

}  // namespace zhuyi::tensor
