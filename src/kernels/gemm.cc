#include "kernels/gemm.h"

#include <type_traits>

#include "base/error.h"
#include "kernels/gemm_driver.h"
#include "kernels/targets.h"

namespace zhuyi::kernels {
namespace {

template <class T>
void check_stride(const char* what, ConstMatrix<T> b) {
  base::check(b.row_stride == 1 || b.column_stride == 1,
              "gemm: the strides of {} are {} and {}; one of them must be 1, so copy the matrix first", what,
              b.row_stride, b.column_stride);
}

// Calls use(Format) for the format of f32 products in a precision.
template <class Use>
void with_format(Precision precision, const Use& use) {
  if (precision == Precision::f32) return use(FloatFormat<float>{});
  base::check(precision == Precision::bf16 && has_bf16(),
              "gemm: this CPU (or the instruction set chosen, {}) has no bf16 arithmetic; use f32", current_target());
  use(Bf16Format{});
}

template <class T>
GemmTarget<T> target_of(Matrix<T> c, const GemmOptions<T>& options) {
  return {.c = c, .scale = options.scale, .bias = options.bias, .accumulate = options.accumulate};
}

}  // namespace

bool has_precision(Precision precision) { return precision != Precision::bf16 || has_bf16(); }

template <class T>
void gemm(ConstMatrix<T> a, ConstMatrix<T> b, Matrix<T> c, const GemmOptions<T>& options) {
  check_product(a, b.rows, b.columns, c);
  check_stride("b", b);
  if constexpr (std::is_same_v<T, float>) {
    with_format(options.precision, [&]<class Format>(Format) {
      multiply<Format>(gemm_code(Format{}), {.a = a, .b = b, .target = target_of(c, options)}, options.parallel);
    });
  } else {
    using Format = FloatFormat<T>;
    multiply<Format>(gemm_code(Format{}), {.a = a, .b = b, .target = target_of(c, options)}, options.parallel);
  }
}

template void gemm(ConstMatrix<float>, ConstMatrix<float>, Matrix<float>, const GemmOptions<float>&);
template void gemm(ConstMatrix<double>, ConstMatrix<double>, Matrix<double>, const GemmOptions<double>&);

PackedMatrix::PackedMatrix(ConstMatrix<float> b, Precision precision)
    : rows_(b.rows), columns_(b.columns), precision_(precision) {
  check_stride("the matrix to pack", b);
  with_format(precision, [&]<class Format>(Format) {
    using Packed = typename Format::Packed;
    const std::int64_t size = Panels<Format>::size(rows_, columns_);
    auto panels = allocate_lines<Packed>(size);
    pack_panels(gemm_code(Format{}), b, panels.get(), true);
    bytes_ = size * static_cast<std::int64_t>(sizeof(Packed));
    panels_ = std::shared_ptr<const void>(std::move(panels));
  });
}

void gemm(ConstMatrix<float> a, const PackedMatrix& b, Matrix<float> c, const GemmOptions<float>& options) {
  check_product(a, b.rows(), b.columns(), c);
  with_format(b.precision(), [&]<class Format>(Format) {
    multiply<Format>(
        gemm_code(Format{}),
        {.a = a,
         .b = {.rows = b.rows(), .columns = b.columns()},
         .panels = {static_cast<const typename Format::Packed*>(b.panels()), Panels<Format>::count_for(b.columns())},
         .target = target_of(c, options)},
        options.parallel);
  });
}

}  // namespace zhuyi::kernels
