#include "kernels/gemm_int8.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "kernels/gemm_driver.h"
#include "kernels/quantize.h"

namespace zhuyi::kernels {
namespace {

constexpr std::int64_t kQuad = Int8Format::kTerms;
constexpr std::int64_t kPanelBytes = Int8Format::kColumns * kQuad;  // of four terms of k
static_assert(kInt8Terms == Int8Format::kDepth);

std::int64_t panel_offset(std::int64_t rows, std::int64_t row, std::int64_t column) {
  return column / Int8Format::kColumns * divide_up(rows, kQuad) * kPanelBytes + row / kQuad * kPanelBytes +
         column % Int8Format::kColumns * kQuad + row % kQuad;
}

void check_size(std::int64_t rows, std::int64_t columns) {
  base::check(rows >= 0 && columns >= 0 && rows <= kInt8Terms,
              "Int8Matrix: [{}, {}]; expected at most {} rows, or sums would leave 32 bits", rows, columns, kInt8Terms);
}

// Memory for a matrix, all zeros, in one piece that begins at a cache line.
struct Room {
  Room(std::int64_t rows, std::int64_t columns) {
    const std::int64_t bytes = Int8Matrix::panel_bytes(rows, columns);
    auto lines = allocate_lines<std::int8_t>(bytes + 8 * columns);
    panels = lines.get();
    std::fill_n(panels, bytes + 8 * columns, std::int8_t{0});
    scales = reinterpret_cast<float*>(panels + bytes);
    sums = reinterpret_cast<std::int32_t*>(scales + columns);
    memory = std::shared_ptr<const void>(std::move(lines));
  }

  std::shared_ptr<const void> memory;
  std::int8_t* panels;
  float* scales;
  std::int32_t* sums;
};

}  // namespace

std::int64_t Int8Matrix::panel_bytes(std::int64_t rows, std::int64_t columns) {
  return Panels<Int8Format>::size(rows, columns) * kQuad;
}

Int8Matrix::Int8Matrix(ConstMatrix<float> b) : rows_(b.rows), columns_(b.columns) {
  check_size(b.rows, b.columns);
  const Room room(rows_, columns_);
  for (std::int64_t j = 0; j < columns_; ++j) {
    float largest = 0;
    for (std::int64_t k = 0; k < rows_; ++k) {
      base::check(std::isfinite(b(k, j)), "Int8Matrix: the number at ({}, {}) is {}", k, j, b(k, j));
      largest = std::max(largest, std::abs(b(k, j)));
    }
    const Int8Step step(largest);
    room.scales[j] = step.size;
    for (std::int64_t k = 0; k < rows_; ++k) {
      const auto number = static_cast<std::int8_t>(std::nearbyint(b(k, j) * step.per_unit));
      room.panels[panel_offset(rows_, k, j)] = number;
      room.sums[j] += number;
    }
  }
  panels_ = {room.panels, static_cast<std::size_t>(panel_bytes(rows_, columns_))};
  scales_ = {room.scales, static_cast<std::size_t>(columns_)};
  sums_ = {room.sums, static_cast<std::size_t>(columns_)};
  owner_ = room.memory;
}

Int8Matrix Int8Matrix::some_columns(std::span<const std::int32_t> columns) const {
  const auto count = std::ssize(columns);
  const Room room(rows_, count);
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t column = columns[static_cast<std::size_t>(j)];
    base::check(column >= 0 && column < columns_, "Int8Matrix: column {} of {}", column, columns_);
    const std::int8_t* from = panels_.data() + panel_offset(rows_, 0, column);
    std::int8_t* to = room.panels + panel_offset(rows_, 0, j);
    for (std::int64_t k = 0; k < divide_up(rows_, kQuad); ++k) {
      std::memcpy(to + k * kPanelBytes, from + k * kPanelBytes, kQuad);
    }
    room.scales[j] = scales_[static_cast<std::size_t>(column)];
    room.sums[j] = sums_[static_cast<std::size_t>(column)];
  }
  return {rows_,
          count,
          {room.panels, static_cast<std::size_t>(panel_bytes(rows_, count))},
          {room.scales, static_cast<std::size_t>(count)},
          {room.sums, static_cast<std::size_t>(count)},
          room.memory};
}

Int8Matrix::Int8Matrix(std::int64_t rows, std::int64_t columns, std::span<const std::int8_t> panels,
                       std::span<const float> scales, std::span<const std::int32_t> sums,
                       std::shared_ptr<const void> owner)
    : rows_(rows), columns_(columns), panels_(panels), scales_(scales), sums_(sums), owner_(std::move(owner)) {
  check_size(rows, columns);
  base::check(
      std::ssize(panels) == panel_bytes(rows, columns) && std::ssize(scales) == columns && std::ssize(sums) == columns,
      "Int8Matrix: [{}, {}] with {} bytes, {} scales and {} sums; expected {}, {} and {}", rows, columns, panels.size(),
      scales.size(), sums.size(), panel_bytes(rows, columns), columns, columns);
}

void Int8Matrix::column(std::int64_t column, float factor, float* to) const {
  const float scale = factor * scales_[static_cast<std::size_t>(column)];
  const std::int8_t* numbers = panels_.data() + panel_offset(rows_, 0, column);
  for (std::int64_t k = 0; k < rows_; ++k) {
    to[k] = scale * static_cast<float>(numbers[k / kQuad * kPanelBytes + k % kQuad]);
  }
}

std::int8_t Int8Matrix::at(std::int64_t row, std::int64_t column) const {
  base::check(row >= 0 && row < rows_ && column >= 0 && column < columns_, "Int8Matrix: ({}, {}) is outside [{}, {}]",
              row, column, rows_, columns_);
  return panels_[static_cast<std::size_t>(panel_offset(rows_, row, column))];
}

void gemm(ConstMatrix<float> a, const Int8Matrix& b, Matrix<float> c, const GemmOptions<float>& options) {
  check_product(a, b.rows(), b.columns(), c);
  base::check(a.column_stride == 1 && options.scale == 1,
              "gemm: with 8-bit weights rows must be without gaps and the scale 1, not {}", options.scale);
  const GemmTarget<float> target{.c = c,
                                 .bias = options.bias,
                                 .accumulate = options.accumulate,
                                 .column_scales = b.scales().data(),
                                 .column_sums = b.column_sums().data()};
  multiply<Int8Format>(gemm_code(Int8Format{}),
                       {.a = a,
                        .b = {.rows = b.rows(), .columns = b.columns()},
                        .panels = {reinterpret_cast<const std::uint32_t*>(b.panels().data()),
                                   Panels<Int8Format>::count_for(b.columns())},
                        .target = target},
                       options.parallel);
}

}  // namespace zhuyi::kernels
