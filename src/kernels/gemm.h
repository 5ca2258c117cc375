#pragma once
// Matrix products: c = scale * a b (+ bias) (+ c). Register-blocked, packed, in fixed order per element.
//
// Every element of c is summed over k in one order that depends on k alone: not on the number of rows or columns, not
// on its position in the matrix, not on threads. So a row of a product is bit for bit the same whatever stands in other
// rows.

#include <cstdint>
#include <memory>

#include "kernels/matrix.h"

namespace zhuyi::kernels {

// What the terms of an f32 product are multiplied in. Sums are f32 in either case.
enum class Precision {
  f32,
  bf16,  // both sides rounded to bf16 (nearest, ties to even), exact products: AVX512-BF16
  int8,  // 8-bit integers, with exact sums: an Int8Matrix as the right-hand side (kernels/gemm_int8.h)
};

// Whether the instruction set in use multiplies in this precision: all do f32 and int8.
bool has_precision(Precision precision);

template <class T>
struct GemmOptions {
  T scale = 1;                           // multiplies a b
  const T* bias = nullptr;               // [columns of c], added to every row
  bool accumulate = false;               // add to c instead of replacing it
  bool parallel = true;                  // use the threads of base/parallel
  Precision precision = Precision::f32;  // f32 or bf16, of f32 products; throws invalid_argument otherwise
};

// c = options.scale * a b (+ bias) (+ c). a [m, k], b [k, n], c [m, n]; in a and b one of the strides must be 1, in c
// the column stride. m, n or k may be 0 (k = 0 gives bias or zeros). T is float or double.
template <class T>
void gemm(ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c, const GemmOptions<T>& options = {});

// A right-hand side stored once in the order that the inner kernel reads. Products with it equal products with the
// plain matrix in its precision bit for bit; options.precision does not matter then.
class PackedMatrix {
 public:
  explicit PackedMatrix(ConstMatrix<float> b, Precision precision = Precision::f32);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t bytes() const { return bytes_; }
  Precision precision() const { return precision_; }
  // Of the precision's Format (kernels/gemm_driver.h).
  const void* panels() const { return panels_.get(); }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t bytes_ = 0;
  Precision precision_;
  std::shared_ptr<const void> panels_;
};

void gemm(ConstMatrix<float> a, const PackedMatrix& b, Matrix<float> c, const GemmOptions<float>& options = {});

}  // namespace zhuyi::kernels
