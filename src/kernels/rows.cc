#include "kernels/rows.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/serial.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows.cc"
#include "hwy/foreach_target.h"
//
#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {
namespace {

// Rows are summed in groups and the groups then added, which keeps the rounding error of a long sum small.
constexpr std::int64_t kGroup = 64;

template <class T>
void column_sums_serial(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, T* out) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t j = 0;
  for (; j + 4 * lanes <= columns; j += 4 * lanes) {
    for (std::int64_t begin = 0; begin < rows; begin += kGroup) {
      auto a = hn::Zero(d);
      auto b = hn::Zero(d);
      auto c = hn::Zero(d);
      auto e = hn::Zero(d);
      for (std::int64_t i = begin; i < std::min(rows, begin + kGroup); ++i) {
        const T* from = x + i * stride + j;
        a = hn::Add(a, hn::LoadU(d, from));
        b = hn::Add(b, hn::LoadU(d, from + lanes));
        c = hn::Add(c, hn::LoadU(d, from + 2 * lanes));
        e = hn::Add(e, hn::LoadU(d, from + 3 * lanes));
      }
      T* to = out + j;
      hn::StoreU(hn::Add(hn::LoadU(d, to), a), d, to);
      hn::StoreU(hn::Add(hn::LoadU(d, to + lanes), b), d, to + lanes);
      hn::StoreU(hn::Add(hn::LoadU(d, to + 2 * lanes), c), d, to + 2 * lanes);
      hn::StoreU(hn::Add(hn::LoadU(d, to + 3 * lanes), e), d, to + 3 * lanes);
    }
  }
  for_lanes(d, columns - j, [&](auto access, std::int64_t k) HWY_ATTR {
    for (std::int64_t begin = 0; begin < rows; begin += kGroup) {
      auto sum = hn::Zero(d);
      for (std::int64_t i = begin; i < std::min(rows, begin + kGroup); ++i) {
        sum = hn::Add(sum, access.load(x + i * stride + j + k));
      }
      access.store(hn::Add(access.load(out + j + k), sum), out + j + k);
    }
  });
}

template <class T>
void copy_scaled_serial(T factor, const T* x, T* out, std::int64_t n) {
  const hn::ScalableTag<T> d;
  const auto factors = hn::Set(d, factor);
  for_lanes(d, n,
            [&](auto access, std::int64_t i) HWY_ATTR { access.store(hn::Mul(factors, access.load(x + i)), out + i); });
}

template <class T>
const TableKernels<T>* table_table() {
  static constexpr TableKernels<T> table{.add_column_sums = column_sums_serial<T>,
                                         .copy_scaled = copy_scaled_serial<T>};
  return &table;
}

}  // namespace

const TableKernels<float>* table_table_f32() { return table_table<float>(); }
const TableKernels<double>* table_table_f64() { return table_table<double>(); }

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {

HWY_EXPORT(table_table_f32);
HWY_EXPORT(table_table_f64);

template <>
const TableKernels<float>& table_kernels() {
  return *HWY_DYNAMIC_DISPATCH(table_table_f32)();
}
template <>
const TableKernels<double>& table_kernels() {
  return *HWY_DYNAMIC_DISPATCH(table_table_f64)();
}

namespace {

// Columns that one thread sums over all rows, so that every sum has one order.
constexpr std::int64_t kColumns = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// x holds one row for each number of `rows`, which are rows of the table.
template <class T>
void check_table(const char* operation, const ConstMatrix<T>& table, std::span<const std::int32_t> rows,
                 const ConstMatrix<T>& x) {
  base::check(x.rows == static_cast<std::int64_t>(rows.size()) && x.columns == table.columns && x.column_stride == 1 &&
                  table.column_stride == 1,
              "{}: a [{}, {}] matrix, {} row numbers, a table of {} columns; rows and columns must agree", operation,
              x.rows, x.columns, rows.size(), table.columns);
  for (const std::int32_t row : rows) {
    base::check(row >= 0 && row < table.rows, "{}: row {} of a table of {} rows", operation, row, table.rows);
  }
}

}  // namespace

template <class T>
void add_column_sums(ConstMatrix<T> x, std::span<T> out) {
  base::check(out.size() == at(x.columns) && x.column_stride == 1,
              "add_column_sums: {} columns, {} sums; they must be equally many, the rows without gaps", x.columns,
              out.size());
  // A short matrix is not worth a second thread.
  const std::int64_t grain = std::max(kColumns, rows_per_piece(x.rows) / kColumns * kColumns);
  base::parallel_for(x.columns, grain, [&](std::int64_t begin, std::int64_t end) {
    table_kernels<T>().add_column_sums(x.data + begin, x.row_stride, x.rows, end - begin, out.data() + begin);
  });
}

template <class T>
void gather_rows(ConstMatrix<T> table, std::span<const std::int32_t> rows, T factor, Matrix<T> out) {
  check_table<T>("gather_rows", table, rows, out);
  base::parallel_for(out.rows, rows_per_piece(out.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      table_kernels<T>().copy_scaled(factor, table.row(rows[at(i)]), out.row(i), out.columns);
    }
  });
}

template <class T>
void scatter_add_rows(ConstMatrix<T> x, std::span<const std::int32_t> rows, T factor, Matrix<T> table) {
  check_table<T>("scatter_add_rows", table, rows, x);
  const std::int64_t grain = std::max(kColumns, rows_per_piece(x.rows) / kColumns * kColumns);
  base::parallel_for(x.columns, grain, [&](std::int64_t begin, std::int64_t end) {
    const VectorKernels<T>& kernels = vector_kernels<T>();
    for (std::int64_t i = 0; i < x.rows; ++i) {
      kernels.add_scaled(factor, x.row(i) + begin, table.row(rows[at(i)]) + begin, end - begin);
    }
  });
}

template void add_column_sums(ConstMatrix<float>, std::span<float>);
template void add_column_sums(ConstMatrix<double>, std::span<double>);
template void gather_rows(ConstMatrix<float>, std::span<const std::int32_t>, float, Matrix<float>);
template void gather_rows(ConstMatrix<double>, std::span<const std::int32_t>, double, Matrix<double>);
template void scatter_add_rows(ConstMatrix<float>, std::span<const std::int32_t>, float, Matrix<float>);
template void scatter_add_rows(ConstMatrix<double>, std::span<const std::int32_t>, double, Matrix<double>);
}  // namespace zhuyi::kernels
#endif  // HWY_ONCE
