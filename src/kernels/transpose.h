#pragma once
// Rows become columns: what the packing of matrix products does with a matrix that lies the other way.

#include <immintrin.h>

#include <cstdint>

namespace zhuyi::kernels {

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < columns; T has 4 or 8 bytes.
template <class T>
void transpose(const T* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, T* to,
               std::int64_t to_stride) {
  constexpr std::int64_t kSide = 16 / static_cast<std::int64_t>(sizeof(T));
  std::int64_t i = 0;
  for (; i + kSide <= rows; i += kSide) {
    std::int64_t j = 0;
    for (; j + kSide <= columns; j += kSide) {
      const T* source = from + i * from_stride + j;
      T* out = to + j * to_stride + i;
      if constexpr (kSide == 4) {
        const auto row = [&](std::int64_t r) {
          return _mm_loadu_ps(reinterpret_cast<const float*>(source + r * from_stride));
        };
        __m128 r0 = row(0);
        __m128 r1 = row(1);
        __m128 r2 = row(2);
        __m128 r3 = row(3);
        _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
        _mm_storeu_ps(reinterpret_cast<float*>(out), r0);
        _mm_storeu_ps(reinterpret_cast<float*>(out + to_stride), r1);
        _mm_storeu_ps(reinterpret_cast<float*>(out + 2 * to_stride), r2);
        _mm_storeu_ps(reinterpret_cast<float*>(out + 3 * to_stride), r3);
      } else {
        const __m128d r0 = _mm_loadu_pd(source);
        const __m128d r1 = _mm_loadu_pd(source + from_stride);
        _mm_storeu_pd(out, _mm_unpacklo_pd(r0, r1));
        _mm_storeu_pd(out + to_stride, _mm_unpackhi_pd(r0, r1));
      }
    }
    for (; j < columns; ++j) {
      for (std::int64_t s = i; s < i + kSide; ++s) to[j * to_stride + s] = from[s * from_stride + j];
    }
  }
  for (; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

}  // namespace zhuyi::kernels
