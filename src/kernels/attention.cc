#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/serial.h"

namespace zhuyi::kernels {
namespace {

// Queries that are worked on together: of a causal block's keys they leave out those in the future of all of them.
constexpr std::int64_t kQueries = 64;
// Multiply-adds that make a piece of work worth a thread's while.
constexpr std::int64_t kWork = 65536;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T, class K>
void check_inputs(const AttentionInputs<T, K>& in, const AttentionMap& map) {
  base::check(in.heads >= 1 && in.q.columns % in.heads == 0 && in.v.columns % in.heads == 0,
              "attention: {} heads do not divide queries of {} columns and values of {}", in.heads, in.q.columns,
              in.v.columns);
  base::check(in.q.columns == in.k.columns && in.q.columns >= 1, "attention: queries have {} columns, keys {}",
              in.q.columns, in.k.columns);
  base::check(in.k.rows == in.v.rows, "attention: {} keys, {} values; each key needs one value", in.k.rows, in.v.rows);
  base::check(in.q.column_stride == 1 && in.k.column_stride == 1 && in.v.column_stride == 1,
              "attention: rows must be without gaps; column strides are {}, {}, {}", in.q.column_stride,
              in.k.column_stride, in.v.column_stride);
  base::check(in.dropout.rate >= 0 && in.dropout.rate < 1, "attention: dropout rate {}; it must be in [0, 1)",
              in.dropout.rate);
  base::check(in.similarity.kind != Similarity::gaussian || in.similarity.bandwidth > 0,
              "attention: bandwidth {}; it must be positive", in.similarity.bandwidth);
  base::check(!map.causal || !in.looks_up(map),
              "attention: a causal map with keys that are looked up; leave the later keys out of the blocks instead");
  const std::int64_t keys = map.key_rows.empty() ? in.k.rows : static_cast<std::int64_t>(map.key_rows.size());
  for (const AttentionBlock& block : map.blocks) {
    base::check(0 <= block.query_begin && block.query_begin <= block.query_end && block.query_end <= in.q.rows,
                "attention: a block with queries [{}, {}) of {}", block.query_begin, block.query_end, in.q.rows);
    base::check(0 <= block.key_begin && block.key_begin < block.key_end && block.key_end <= keys,
                "attention: a block with keys [{}, {}) of {}; it must have at least one", block.key_begin,
                block.key_end, keys);
    base::check(!map.causal || block.query_end - block.query_begin == block.key_end - block.key_begin,
                "attention: a causal block with {} queries and {} keys; they must be equally many",
                block.query_end - block.query_begin, block.key_end - block.key_begin);
  }
  for (const std::int32_t row : map.key_rows) {
    base::check(row >= 0 && row < in.k.rows, "attention: key row {} of {}", row, in.k.rows);
  }
}

// One block and head: what it reads, and where its weights stand among all.
template <class T, class K = T>
struct Head {
  ConstMatrix<T> q;  // [queries, d_k]
  ConstMatrix<K> k;  // [keys, d_k]; with key_rows all rows of k
  ConstMatrix<K> v;  // [keys, d_v]; likewise
  std::int64_t keys;
  std::int64_t offset;  // of the first weight
  std::int64_t k_column;
  std::int64_t v_column;
  const AttentionBlock* block;
};

template <class T, class K>
Head<T, K> head_of(const AttentionInputs<T, K>& in, const AttentionMap& map, const AttentionBlock& block,
                   std::int64_t head, std::int64_t block_offset) {
  const std::int64_t d_k = in.q.columns / in.heads;
  const std::int64_t d_v = in.v.columns / in.heads;
  const std::int64_t queries = block.query_end - block.query_begin;
  const std::int64_t keys = block.key_end - block.key_begin;
  const bool direct = map.key_rows.empty();
  const std::int64_t first = direct ? block.key_begin : 0;
  const std::int64_t rows = direct ? keys : in.k.rows;
  return {.q = in.q.block(block.query_begin, head * d_k, queries, d_k),
          .k = in.k.block(first, head * d_k, rows, d_k),
          .v = in.v.block(first, head * d_v, rows, d_v),
          .keys = keys,
          .offset = block_offset + head * queries * keys,
          .k_column = head * d_k,
          .v_column = head * d_v,
          .block = &block};
}

// For each block, the offset of its weights; and in the end how many there are.
std::vector<std::int64_t> weight_offsets(const AttentionMap& map, std::int64_t heads) {
  std::vector<std::int64_t> offsets{0};
  for (const AttentionBlock& block : map.blocks) {
    const std::int64_t count = (block.query_end - block.query_begin) * (block.key_end - block.key_begin);
    offsets.push_back(offsets.back() + heads * count);
  }
  return offsets;
}

// What multiplies q.k in the exponent.
template <class T>
T product_scale(const SimilarityOptions& similarity, std::int64_t d_k) {
  switch (similarity.kind) {
    case Similarity::scaled_dot:
      return static_cast<T>(1 / std::sqrt(static_cast<double>(d_k)));
    case Similarity::dot:
      return 1;
    case Similarity::gaussian:
      return static_cast<T>(1 / (similarity.bandwidth * similarity.bandwidth));
  }
  return 1;
}

// Queries [begin, end) of a head, and how many keys the last of them sees.
struct Strip {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t keys;

  std::int64_t rows() const { return end - begin; }
};

// At most `step` queries from `begin` on.
template <class T>
Strip strip_of(const Head<T>& head, bool causal, std::int64_t begin, std::int64_t step) {
  const std::int64_t end = std::min(begin + step, head.q.rows);
  return {begin, end, causal ? end : head.keys};
}

// weights [queries, keys] = the normalised similarities of a strip's queries; those of keys that a query does not see,
// and all beyond the strip's up to `kept_keys`, are 0.
//
// -|q - k|^2 / (2 b^2) = q.k / b^2 - |k|^2 / (2 b^2) - |q|^2 / (2 b^2), and the last term, the same for all keys of a
// query, goes away in the softmax.
template <class T>
void compute_weights(const AttentionInputs<T>& in, bool causal, const Head<T>& head, const Strip& strip,
                     Matrix<T> weights, std::int64_t kept_keys) {
  const T scale = product_scale<T>(in.similarity, head.q.columns);
  gemm<T>(head.q.block(strip.begin, 0, strip.rows(), head.q.columns),
          head.k.block(0, 0, strip.keys, head.k.columns).transposed(), weights, {.scale = scale, .parallel = false});
  if (in.similarity.kind == Similarity::gaussian) {
    for (std::int64_t j = 0; j < strip.keys; ++j) {
      T square = 0;
      for (std::int64_t c = 0; c < head.k.columns; ++c) square += head.k(j, c) * head.k(j, c);
      for (std::int64_t i = 0; i < weights.rows; ++i) weights(i, j) -= scale / 2 * square;
    }
  }
  for (std::int64_t i = 0; i < weights.rows; ++i) {
    const std::int64_t seen = causal ? strip.begin + i + 1 : strip.keys;
    softmax_kernels<T>().softmax(weights.row(i), seen);
    std::fill(weights.row(i) + seen, weights.row(i) + kept_keys, T{0});
  }
}

// out = dropout(x), where x(0, 0) is number `first` of the mask and rows of the mask are as far apart as those of x.
template <class T>
void drop(const Dropout& dropout, std::int64_t first, ConstMatrix<T> x, Matrix<T> out) {
  if (x.columns == x.row_stride && out.columns == out.row_stride) {
    vector_kernels<T>().dropout(dropout, first, x.data, out.data, x.rows * x.columns);
    return;
  }
  for (std::int64_t i = 0; i < x.rows; ++i) {
    vector_kernels<T>().dropout(dropout, first + i * x.row_stride, x.row(i), out.row(i), x.columns);
  }
}

// The weights with dropout: themselves when there is none, else in `scratch`.
template <class T>
ConstMatrix<T> dropped_weights(const Dropout& dropout, std::int64_t offset, ConstMatrix<T> weights,
                               std::vector<T>& scratch) {
  if (dropout.rate == 0) return weights;
  scratch.resize(at(weights.rows * weights.columns));
  const Matrix<T> dropped = Matrix<T>::dense(scratch.data(), weights.rows, weights.columns);
  drop<T>(dropout, offset, weights, dropped);
  return dropped;
}

// Memory of one thread, used from head to head.
template <class T>
struct Scratch {
  std::vector<T> weights;
  std::vector<T> dropped;
};

template <class T>
void forward_direct(const AttentionInputs<T>& in, bool causal, const Head<T>& head, Matrix<T> out, T* kept,
                    Scratch<T>& scratch) {
  const std::int64_t step = kept && !causal ? head.q.rows : std::min(kQueries, head.q.rows);
  if (!kept) scratch.weights.resize(at(step * head.keys));
  for (std::int64_t begin = 0; begin < head.q.rows; begin += step) {
    const Strip strip = strip_of(head, causal, begin, step);
    const std::int64_t offset = strip.begin * head.keys;
    const Matrix<T> weights{kept ? kept + offset : scratch.weights.data(), strip.rows(), strip.keys, head.keys, 1};
    compute_weights(in, causal, head, strip, weights, kept ? head.keys : strip.keys);
    gemm<T>(dropped_weights<T>(in.dropout, head.offset + offset, weights, scratch.dropped),
            head.v.block(0, 0, strip.keys, head.v.columns), out.block(strip.begin, 0, strip.rows(), out.columns),
            {.parallel = false});
  }
}

template <class T, class K>
void forward_lookup(const AttentionInputs<T, K>& in, const AttentionMap& map, const Head<T, K>& head, Matrix<T> out,
                    T* kept, Scratch<T>& scratch) {
  const std::int64_t count = head.q.rows * head.keys;
  if (!kept) scratch.weights.resize(at(count));
  T* weights = kept ? kept : scratch.weights.data();
  const bool distance = in.similarity.kind == Similarity::gaussian;
  const T scale = product_scale<T>(in.similarity, head.q.columns);
  const std::int32_t* rows = map.key_rows.empty() ? nullptr : map.key_rows.data() + head.block->key_begin;
  const Lookup<T, K> lookup{head.q, head.k, head.v, rows, head.keys};
  const LookupKernels<T, K>& kernels = lookup_kernels<T, K>();
  kernels.scores(lookup, distance ? -scale / 2 : scale, distance, weights);
  for (std::int64_t i = 0; i < head.q.rows; ++i) softmax_kernels<T>().softmax(weights + i * head.keys, head.keys);
  const ConstMatrix<T> all = ConstMatrix<T>::dense(weights, head.q.rows, head.keys);
  kernels.mix(lookup, dropped_weights<T>(in.dropout, head.offset, all, scratch.dropped).data, out);
}

// Heads of blocks that make a piece of work.
template <class T, class K>
std::int64_t items_per_piece(const AttentionInputs<T, K>& in, const std::vector<std::int64_t>& offsets) {
  const std::int64_t items = static_cast<std::int64_t>(offsets.size() - 1) * in.heads;
  const std::int64_t work =
      offsets.back() * (in.q.columns + in.v.columns) / in.heads / std::max<std::int64_t>(items, 1);
  return std::max<std::int64_t>(1, kWork / std::max<std::int64_t>(work, 1));
}

// Gradients of one head: dq, dk and dv are added to, or written over.
template <class T>
struct HeadGradients {
  ConstMatrix<T> dout;
  Matrix<T> dq;
  Matrix<T> dk;
  Matrix<T> dv;
  bool add;
};

// The part of a head's gradients that comes from a strip of its queries.
template <class T>
void backward_strip(const AttentionInputs<T>& in, const Head<T>& head, const Strip& strip, const T* all_weights,
                    const HeadGradients<T>& gradients, Scratch<T>& scratch) {
  const bool add_to_keys = gradients.add || strip.end < head.q.rows;  // the last strip is the first to come
  const std::int64_t offset = strip.begin * head.keys;
  const ConstMatrix<T> weights{all_weights + offset, strip.rows(), strip.keys, head.keys, 1};
  const ConstMatrix<T> q = head.q.block(strip.begin, 0, strip.rows(), head.q.columns);
  const ConstMatrix<T> k = head.k.block(0, 0, strip.keys, head.k.columns);
  const ConstMatrix<T> v = head.v.block(0, 0, strip.keys, head.v.columns);
  const ConstMatrix<T> dout = gradients.dout.block(strip.begin, 0, strip.rows(), gradients.dout.columns);
  const Matrix<T> dk = gradients.dk.block(0, 0, strip.keys, k.columns);
  const ConstMatrix<T> dropped = dropped_weights<T>(in.dropout, head.offset + offset, weights, scratch.dropped);
  // dv [keys, d_v] += dropped^T [keys, queries] dout [queries, d_v]
  gemm<T>(dropped.transposed(), dout, gradients.dv.block(0, 0, strip.keys, v.columns),
          {.accumulate = add_to_keys, .parallel = false});
  const Matrix<T> dscores{scratch.weights.data(), strip.rows(), strip.keys, head.keys, 1};
  // dweights [queries, keys] = dout [queries, d_v] v^T [d_v, keys]
  gemm<T>(dout, v.transposed(), dscores, {.parallel = false});
  if (in.dropout.rate > 0) drop<T>(in.dropout, head.offset + offset, dscores, dscores);
  for (std::int64_t i = 0; i < strip.rows(); ++i) {
    softmax_kernels<T>().softmax_backward(weights.row(i), dscores.row(i), strip.keys);
  }
  const T scale = product_scale<T>(in.similarity, q.columns);
  GemmOptions<T> options{.scale = scale, .accumulate = gradients.add, .parallel = false};
  // dq [queries, d_k] += scale dscores [queries, keys] k [keys, d_k]. Gaussian: the exact (k - q) needs no term for q,
  // because every row of dscores sums to zero.
  gemm<T>(dscores, k, gradients.dq.block(strip.begin, 0, strip.rows(), q.columns), options);
  options.accumulate = add_to_keys;
  // dk [keys, d_k] += scale dscores^T [keys, queries] q [queries, d_k]
  gemm<T>(ConstMatrix<T>(dscores).transposed(), q, dk, options);
  if (in.similarity.kind != Similarity::gaussian) return;
  // Gaussian: (q - k) instead of q.
  for (std::int64_t j = 0; j < strip.keys; ++j) {
    T sum = 0;
    for (std::int64_t i = 0; i < strip.rows(); ++i) sum += dscores(i, j);
    vector_kernels<T>().add_scaled(-scale * sum, k.row(j), dk.row(j), k.columns);
  }
}

// The sums over queries go strip by strip, in an order that the head's number of queries fixes: from the last, which
// sees all keys, to the first.
template <class T>
void backward_head(const AttentionInputs<T>& in, bool causal, const Head<T>& head, const T* weights,
                   const HeadGradients<T>& gradients, Scratch<T>& scratch) {
  if (head.q.rows == 0) return;
  const std::int64_t step = causal ? std::min(kQueries, head.q.rows) : head.q.rows;
  scratch.weights.resize(at(step * head.keys));
  for (std::int64_t begin = (head.q.rows - 1) / step * step; begin >= 0; begin -= step) {
    backward_strip(in, head, strip_of(head, causal, begin, step), weights, gradients, scratch);
  }
}

template <class T>
void fill_with_zeros(Matrix<T> x) {
  for (std::int64_t i = 0; i < x.rows; ++i) std::fill_n(x.row(i), x.columns, T{0});
}

}  // namespace

std::int64_t attention_weight_count(const AttentionMap& map, std::int64_t heads) {
  return weight_offsets(map, heads).back();
}

template <class T, class K>
void attention(const AttentionInputs<T, K>& inputs, const AttentionMap& map, Matrix<T> out, std::span<T> weights) {
  constexpr bool kOneType = std::is_same_v<T, K>;
  check_inputs(inputs, map);
  base::check(kOneType || inputs.looks_up(map), "attention: keys in bf16 that are not looked up");
  base::check(out.rows == inputs.q.rows && out.columns == inputs.v.columns && out.column_stride == 1,
              "attention: out is [{}, {}]; expected [{}, {}] without gaps in its rows", out.rows, out.columns,
              inputs.q.rows, inputs.v.columns);
  const std::vector<std::int64_t> offsets = weight_offsets(map, inputs.heads);
  base::check(weights.empty() || weights.size() == at(offsets.back()), "attention: room for {} weights; there are {}",
              weights.size(), offsets.back());
  const std::int64_t items = static_cast<std::int64_t>(map.blocks.size()) * inputs.heads;
  base::parallel_for(items, items_per_piece(inputs, offsets), [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch;
    for (std::int64_t item = begin; item < end; ++item) {
      const std::size_t b = at(item / inputs.heads);
      const Head<T, K> head = head_of(inputs, map, map.blocks[b], item % inputs.heads, offsets[b]);
      const Matrix<T> target = out.block(head.block->query_begin, head.v_column, head.q.rows, head.v.columns);
      T* kept = weights.empty() ? nullptr : weights.data() + head.offset;
      if constexpr (kOneType) {
        if (!inputs.looks_up(map)) {
          forward_direct(inputs, map.causal, head, target, kept, scratch);
          continue;
        }
      }
      forward_lookup(inputs, map, head, target, kept, scratch);
    }
  });
}

// Blocks with keys of their own run on all threads at once; if two share keys, only heads do, and the blocks of a head
// add to dk and dv in their order.
template <class T>
void attention_backward(const AttentionInputs<T>& inputs, const AttentionMap& map, std::span<const T> weights,
                        ConstMatrix<T> dout, Matrix<T> dq, Matrix<T> dk, Matrix<T> dv, bool add) {
  check_inputs(inputs, map);
  base::check(!inputs.looks_up(map), "attention_backward: keys that are looked up; there is no backward for them");
  const std::vector<std::int64_t> offsets = weight_offsets(map, inputs.heads);
  base::check(weights.size() == at(offsets.back()), "attention_backward: {} weights; forward gave {}", weights.size(),
              offsets.back());
  const auto same = [](const ConstMatrix<T>& a, const ConstMatrix<T>& b) {
    return a.rows == b.rows && a.columns == b.columns && b.column_stride == 1;
  };
  base::check(same(inputs.q, dq) && same(inputs.k, dk) && same(inputs.v, dv) && dout.rows == dq.rows &&
                  dout.columns == dv.columns && dout.column_stride == 1,
              "attention_backward: gradients must have the shapes of q, k, v and out, and rows without gaps");
  const bool apart = map.keys_apart();
  const bool write_over = !add && apart && map.covers(dq.rows, dk.rows);
  if (!add && !write_over) {
    for (const Matrix<T>& whole : {dq, dk, dv}) fill_with_zeros(whole);
  }
  const auto backward_item = [&](std::size_t b, std::int64_t h, Scratch<T>& scratch) {
    const Head<T> head = head_of(inputs, map, map.blocks[b], h, offsets[b]);
    const AttentionBlock& block = map.blocks[b];
    const std::int64_t d_k = head.q.columns;
    const std::int64_t d_v = head.v.columns;
    const HeadGradients<T> gradients{dout.block(block.query_begin, head.v_column, head.q.rows, d_v),
                                     dq.block(block.query_begin, head.k_column, head.q.rows, d_k),
                                     dk.block(block.key_begin, head.k_column, head.keys, d_k),
                                     dv.block(block.key_begin, head.v_column, head.keys, d_v), !write_over};
    backward_head(inputs, map.causal, head, weights.data() + head.offset, gradients, scratch);
  };
  const std::int64_t blocks = static_cast<std::int64_t>(map.blocks.size());
  if (apart) {
    base::parallel_for(blocks * inputs.heads, items_per_piece(inputs, offsets),
                       [&](std::int64_t begin, std::int64_t end) {
                         Scratch<T> scratch;
                         for (std::int64_t item = begin; item < end; ++item) {
                           backward_item(at(item / inputs.heads), item % inputs.heads, scratch);
                         }
                       });
    return;
  }
  base::parallel_for(inputs.heads, 1, [&](std::int64_t begin, std::int64_t end) {
    Scratch<T> scratch;
    for (std::int64_t h = begin; h < end; ++h) {
      for (std::size_t b = 0; b < map.blocks.size(); ++b) backward_item(b, h, scratch);
    }
  });
}

template void attention(const AttentionInputs<float>&, const AttentionMap&, Matrix<float>, std::span<float>);
template void attention(const AttentionInputs<float, Bf16>&, const AttentionMap&, Matrix<float>, std::span<float>);
template void attention(const AttentionInputs<double>&, const AttentionMap&, Matrix<double>, std::span<double>);
template void attention_backward(const AttentionInputs<float>&, const AttentionMap&, std::span<const float>,
                                 ConstMatrix<float>, Matrix<float>, Matrix<float>, Matrix<float>, bool);
template void attention_backward(const AttentionInputs<double>&, const AttentionMap&, std::span<const double>,
                                 ConstMatrix<double>, Matrix<double>, Matrix<double>, Matrix<double>, bool);
}  // namespace zhuyi::kernels
