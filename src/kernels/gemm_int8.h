#pragma once
// Products with 8-bit weights for inference: rows of a are quantised as they come, sums are exact integers.
//
// A weight is stored as round(w / s_j) in [-127, 127] with one scale s_j = largest |w| / 127 a column; a row of a as
// round(x / r_i) in [-127, 127] with r_i = largest |x| / 127 (columns and rows of numbers below 1.5e-36 are zeros:
// Int8Step in quantize.h). c = r_i s_j * sum + bias, where sum is an exact 32-bit integer. So c is bit for bit the same
// in any batch, with any number of threads and on any instruction set.

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/gemm.h"

namespace zhuyi::kernels {

// The largest number of terms of a product: with more of them a sum might leave 32 bits.
inline constexpr std::int64_t kInt8Terms = 65536;

// A right-hand side [k, n] in 8 bits, as panels of 16 columns in which four terms of k stand side by side.
class Int8Matrix {
 public:
  // Quantises b. Throws invalid_argument for more than kInt8Terms rows, for strides of which none is 1, and for numbers
  // that are not finite.
  explicit Int8Matrix(ConstMatrix<float> b);
  // Panels, scales and sums that were stored before, of a matrix of this shape, e.g. in a mapped file that `owner`
  // keeps; none of it is read now. Throws invalid_argument when there are not panel_bytes(rows, columns) bytes, or a
  // scale and a sum for every column.
  Int8Matrix(std::int64_t rows, std::int64_t columns, std::span<const std::int8_t> panels,
             std::span<const float> scales, std::span<const std::int32_t> sums, std::shared_ptr<const void> owner);

  static std::int64_t panel_bytes(std::int64_t rows, std::int64_t columns);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(panels_.size() + 8 * scales_.size()); }
  std::span<const std::int8_t> panels() const { return panels_; }
  std::span<const float> scales() const { return scales_; }            // [columns]
  std::span<const std::int32_t> column_sums() const { return sums_; }  // [columns], of the integers
  // The integer at (row, column).
  std::int8_t at(std::int64_t row, std::int64_t column) const;
  // The columns with these numbers, in this order, as a matrix of their own. Numbers must be in [0, columns).
  Int8Matrix some_columns(std::span<const std::int32_t> columns) const;
  // to[k] = factor * (the number at (k, column)) for all rows: an embedding, where the columns are pieces.
  void column(std::int64_t column, float factor, float* to) const;

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::span<const std::int8_t> panels_;
  std::span<const float> scales_;
  std::span<const std::int32_t> sums_;
  std::shared_ptr<const void> owner_;
};

// c = a b (+ options.bias) (+ c); scale must be 1. a [m, k] with column stride 1, c [m, n] likewise.
void gemm(ConstMatrix<float> a, const Int8Matrix& b, Matrix<float> c, const GemmOptions<float>& options = {});

}  // namespace zhuyi::kernels
