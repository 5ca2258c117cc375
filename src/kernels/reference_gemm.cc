#include "base/error.h"
#include "kernels/reference.h"

namespace zhuyi::kernels::reference {

template <class T>
void gemm(ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c, const GemmOptions<T>& options) {
  base::check(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns,
              "reference gemm: [{}, {}] times [{}, {}] cannot give [{}, {}]", a.rows, a.columns, b.rows, b.columns,
              c.rows, c.columns);
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k) sum += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
      sum *= static_cast<double>(options.scale);
      if (options.bias != nullptr) sum += static_cast<double>(options.bias[j]);
      if (options.accumulate) sum += static_cast<double>(c(i, j));
      c(i, j) = static_cast<T>(sum);
    }
  }
}

template void gemm(ConstMatrix<float>, ConstMatrix<float>, Matrix<float>, const GemmOptions<float>&);
template void gemm(ConstMatrix<double>, ConstMatrix<double>, Matrix<double>, const GemmOptions<double>&);

}  // namespace zhuyi::kernels::reference
