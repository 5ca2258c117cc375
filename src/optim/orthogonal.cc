#include "optim/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernels/gemm.h"
#include "kernels/vector.h"

namespace zhuyi::optim {
namespace {

using kernels::ConstMatrix;
using kernels::GemmOptions;
using kernels::Matrix;

constexpr double kLinear = 3.4445;
constexpr double kCubic = -4.7750;
constexpr double kQuintic = 2.0315;
constexpr std::int64_t kBlock = 128;  // rows of a symmetric product computed at a time

template <class T>
std::span<T> numbers(Matrix<T> x) {
  return {x.data, static_cast<std::size_t>(x.rows * x.columns)};
}

// out = scale * a b, which the caller knows to be symmetric: the blocks up to the diagonal, then their mirror image.
template <class T>
void symmetric_product(ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> out, double scale = 1) {
  GemmOptions<T> options;
  options.scale = static_cast<T>(scale);
  for (std::int64_t i = 0; i < out.rows; i += kBlock) {
    const std::int64_t rows = std::min(kBlock, out.rows - i);
    kernels::gemm<T>(a.block(i, 0, rows, a.columns), b.block(0, 0, b.rows, i + rows), out.block(i, 0, rows, i + rows),
                     options);
  }
  for (std::int64_t i = 0; i < out.rows; i += kBlock) {  // in blocks, so that the columns stay in the cache
    for (std::int64_t j = 0; j < i; j += kBlock) {
      for (std::int64_t r = i; r < std::min(i + kBlock, out.rows); ++r) {
        for (std::int64_t c = j; c < j + kBlock; ++c) out(c, r) = out(r, c);
      }
    }
  }
}

// Four or five square matrices of working memory.
template <class T>
class Squares {
 public:
  Squares(std::int64_t size, std::int64_t count) : size_(size), data_(static_cast<std::size_t>(size * size * count)) {}
  Matrix<T> operator[](std::int64_t i) { return Matrix<T>::dense(data_.data() + i * size_ * size_, size_, size_); }

 private:
  std::int64_t size_;
  std::vector<T> data_;
};

// a I + b A + c A^2.
template <class T>
void polynomial(Matrix<T> a, Matrix<T> out) {
  symmetric_product<T>(a, a, out, kQuintic);
  kernels::add_scaled<T>(static_cast<T>(kCubic), numbers(a), numbers(out));
  for (std::int64_t i = 0; i < out.rows; ++i) out(i, i) += static_cast<T>(kLinear);
}

// X X^T or X^T X, whichever is smaller.
template <class T>
void gram(Matrix<T> x, Matrix<T> out) {
  if (x.rows <= x.columns) {
    symmetric_product<T>(x, x.transposed(), out);
  } else {
    symmetric_product<T>(x.transposed(), x, out);
  }
}

// out = P x or x P, for the square P on the smaller side.
template <class T>
void apply(Matrix<T> p, Matrix<T> x, Matrix<T> out) {
  if (x.rows <= x.columns) {
    kernels::gemm<T>(p, x, out);
  } else {
    kernels::gemm<T>(x, p, out);
  }
}

// As written: X <- P(A) X with A of the new X each time.
template <class T>
void iterate(Matrix<T> x, std::int64_t iterations) {
  Squares<T> squares(std::min(x.rows, x.columns), 2);
  std::vector<T> memory(numbers(x).size());
  Matrix<T> now = x;
  Matrix<T> next = Matrix<T>::dense(memory.data(), x.rows, x.columns);
  for (std::int64_t i = 0; i < iterations; ++i) {
    gram(now, squares[0]);
    polynomial(squares[0], squares[1]);
    apply(squares[1], now, next);
    std::swap(now, next);
  }
  if (now.data != x.data) std::copy_n(now.data, memory.size(), x.data);
}

// The same for a long matrix, whose products with P cost most: P and A are polynomials of the first A and commute, so
// the next A is P A P, and all P can be multiplied together before X is touched.
template <class T>
void iterate_on_gram(Matrix<T> x, std::int64_t iterations) {
  Squares<T> squares(std::min(x.rows, x.columns), 5);
  Matrix<T> a = squares[0];
  Matrix<T> spare = squares[1];
  Matrix<T> all = squares[2];
  Matrix<T> p = squares[3];
  const Matrix<T> half = squares[4];
  gram(x, a);
  for (std::int64_t i = 0; i < iterations; ++i) {
    polynomial(a, p);
    if (i + 1 < iterations) {
      symmetric_product<T>(p, a, half);
      symmetric_product<T>(half, p, spare);
      std::swap(a, spare);
    }
    if (i == 0) {
      std::swap(all, p);
    } else {
      symmetric_product<T>(all, p, half);
      std::copy_n(half.data, numbers(half).size(), all.data);
    }
  }
  std::vector<T> memory(x.data, x.data + numbers(x).size());
  apply(all, Matrix<T>::dense(memory.data(), x.rows, x.columns), x);
}

}  // namespace

template <class T>
void orthogonalize(Matrix<T> x, std::int64_t iterations) {
  base::check(iterations >= 1 && x.column_stride == 1 && x.row_stride == x.columns,
              "orthogonalize: {} iterations on a matrix with strides {} and {}, expected a dense one", iterations,
              x.row_stride, x.column_stride);
  constexpr double kTiny = 1e-7;  // keeps a matrix of zeros from being divided by zero
  const double norm = std::sqrt(kernels::sum_of_squares<T>(numbers(x)));
  kernels::scale<T>(static_cast<T>(1 / (norm + kTiny)), numbers(x));
  if (std::max(x.rows, x.columns) >= 2 * std::min(x.rows, x.columns)) {
    iterate_on_gram(x, iterations);
  } else {
    iterate(x, iterations);
  }
}

template void orthogonalize(Matrix<float>, std::int64_t);
template void orthogonalize(Matrix<double>, std::int64_t);

}  // namespace zhuyi::optim
