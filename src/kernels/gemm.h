#pragma once
// Matrix products: c = scale * a b (+ bias) (+ c). Register-blocked, packed, in fixed order per element.
//
// Every element of c is summed over k in one order that depends on k alone: not on the number of rows or columns, not
// on the place in the matrix, not on threads. So a row of a product is bit for bit the same whatever stands in other
// rows.

#include <cstdint>
#include <memory>

#include "kernels/matrix.h"

namespace zhuyi::kernels {

template <class T>
struct GemmOptions {
  T scale = 1;              // multiplies a b
  const T* bias = nullptr;  // [columns of c], added to every row
  bool accumulate = false;  // add to c instead of replacing it
  bool parallel = true;     // use the threads of base/parallel
};

// c = options.scale * a b (+ bias) (+ c). a [m, k], b [k, n], c [m, n]; in a and b one of the strides must be 1, in c
// the column stride. m, n or k may be 0 (k = 0 gives bias or zeros). T is float or double.
template <class T>
void gemm(ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c, const GemmOptions<T>& options = {});

// A right-hand side stored once in the order that the inner kernel reads. Products with it equal products with the
// plain matrix bit for bit.
class PackedMatrix {
 public:
  explicit PackedMatrix(ConstMatrix<float> b);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t bytes() const { return bytes_; }
  const float* data() const { return data_.get(); }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t bytes_;
  std::shared_ptr<float[]> data_;
};

void gemm(ConstMatrix<float> a, const PackedMatrix& b, Matrix<float> c, const GemmOptions<float>& options = {});

}  // namespace zhuyi::kernels
