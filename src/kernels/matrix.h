#pragma once
// Views of numbers in memory that the kernels take: where they start, how many rows and columns, how far apart.

#include <cstdint>

namespace zhuyi::kernels {

// A matrix in memory that somebody else owns. Element (i, j) is data[i * row_stride + j * column_stride].
template <class T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  // Row-major, without gaps.
  static Matrix dense(T* data, std::int64_t rows, std::int64_t columns) { return {data, rows, columns, columns, 1}; }

  T& operator()(std::int64_t i, std::int64_t j) const { return data[i * row_stride + j * column_stride]; }
  T* row(std::int64_t i) const { return data + i * row_stride; }

  // The same numbers with rows and columns exchanged; nothing is moved.
  Matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  // The block that starts at (row, column).
  Matrix block(std::int64_t row, std::int64_t column, std::int64_t row_count, std::int64_t column_count) const {
    return {data + row * row_stride + column * column_stride, row_count, column_count, row_stride, column_stride};
  }

  operator Matrix<const T>() const { return {data, rows, columns, row_stride, column_stride}; }
};

template <class T>
using ConstMatrix = Matrix<const T>;

}  // namespace zhuyi::kernels
