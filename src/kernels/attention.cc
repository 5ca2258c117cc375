#include "kernels/attention.h"

#include "kernels/reference.h"

namespace zhuyi::kernels {

std::int64_t attention_weight_count(const AttentionMap& map, std::int64_t heads) {
  std::int64_t count = 0;
  for (const AttentionBlock& block : map.blocks) {
    count += heads * (block.query_end - block.query_begin) * (block.key_end - block.key_begin);
  }
  return count;
}

template <class T>
void attention(const AttentionInputs<T>& inputs, const AttentionMap& map, Matrix<T> out, std::span<T> weights) {
  return reference::attention(inputs, map, out, weights);
}

template <class T>
void attention_backward(const AttentionInputs<T>& inputs, const AttentionMap& map, std::span<const T> weights,
                        ConstMatrix<T> dout, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv) {
  return reference::attention_backward(inputs, map, weights, dout, dq, dk, dv);
}

template void attention(const AttentionInputs<float>&, const AttentionMap&, Matrix<float>, std::span<float>);
template void attention(const AttentionInputs<double>&, const AttentionMap&, Matrix<double>, std::span<double>);
template void attention_backward(const AttentionInputs<float>&, const AttentionMap&, std::span<const float>,
                                 ConstMatrix<float>, Matrix<float>, Matrix<float>, Matrix<float>);
template void attention_backward(const AttentionInputs<double>&, const AttentionMap&, std::span<const double>,
                                 ConstMatrix<double>, Matrix<double>, Matrix<double>, Matrix<double>);

}  // namespace zhuyi::kernels
