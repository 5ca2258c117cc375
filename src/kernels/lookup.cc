#include <algorithm>
#include <cstdint>

#include "hwy/cache_control.h"
#include "kernels/serial.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lookup.cc"
#include "hwy/foreach_target.h"
//
#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {
namespace {

// Numbers to the type of the arithmetic as they are read.
template <class D, class Access>
HWY_INLINE hn::Vec<D> load(D, Access access, const hn::TFromD<D>* from) {
  return access.load(from);
}

template <class D>
HWY_INLINE hn::Vec<D> widened(D d, const std::uint16_t* from) {
  const hn::RebindToUnsigned<D> bits;
  const hn::Rebind<std::uint16_t, D> half;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(half, from))));
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, Whole<D>, const Bf16* from) {
  return widened(d, &from->bits);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, Part<D> part, const Bf16* from) {
  std::uint16_t lanes[hn::MaxLanes(D())] = {};
  for (std::size_t i = 0; i < part.count; ++i) lanes[i] = from[i].bits;
  return widened(d, lanes);
}

// The sums of the lanes of some vectors, each in the same order wherever it stands.
constexpr int kGroup = 4;

#if HWY_TARGET != HWY_SCALAR
template <class D>
HWY_INLINE void sums_of_blocks(D d, hn::Vec<D> v, float* to) {
  if constexpr (hn::MaxLanes(D()) > kGroup) {
    const hn::Half<D> half;
    sums_of_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  } else {
    hn::StoreU(v, d, to);
  }
}

// Two steps within blocks of 128 bits, after which a block has one number of each vector; then block is added to block.
template <class D>
HWY_INLINE void sum_each(D d, const hn::Vec<D>* v, float* to) {
  const hn::Repartition<double, D> pairs;
  const auto halved = [&](hn::Vec<D> a, hn::Vec<D> b) HWY_ATTR {
    return hn::BitCast(pairs, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto a = halved(v[0], v[1]);
  const auto b = halved(v[2], v[3]);
  sums_of_blocks(
      d, hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, a, b)), hn::BitCast(d, hn::InterleaveUpper(pairs, a, b))),
      to);
}

#endif

template <class D, class T>
HWY_INLINE void sum_each(D d, const hn::Vec<D>* v, T* to) {
  for (int i = 0; i < kGroup; ++i) to[i] = hn::GetLane(hn::SumOfLanes(d, v[i]));
}

// Adds the terms of one vector of columns, from `c` on. (Loops over registers are unrolled by name: g++ 12 keeps arrays
// of vectors in memory otherwise.)
template <bool kDistance, int kQueries, class D, class Access, class T, class K>
HWY_INLINE void add_terms(D d, Access access, const T* const* queries, const K* const* keys, std::int64_t c,
                          hn::Vec<D> (&sums)[kQueries][kGroup]) {
  hn::Vec<D> key[kGroup];
#pragma GCC unroll 16
  for (int g = 0; g < kGroup; ++g) key[g] = load(d, access, keys[g] + c);
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q) {
    const hn::Vec<D> query = access.load(queries[q] + c);
#pragma GCC unroll 16
    for (int g = 0; g < kGroup; ++g) {
      if constexpr (kDistance) {
        const hn::Vec<D> difference = hn::Sub(query, key[g]);
        sums[q][g] = hn::MulAdd(difference, difference, sums[q][g]);
      } else {
        sums[q][g] = hn::MulAdd(query, key[g], sums[q][g]);
      }
    }
  }
}

// The similarities of kQueries queries from row `i` on and kGroup keys from `j` on; keys beyond the last one are the
// last once more.
template <bool kDistance, int kQueries, class T, class K>
HWY_INLINE void scores_of_group(const Lookup<T, K>& lookup, T factor, std::int64_t i, std::int64_t j, T* weights) {
  using D = hn::ScalableTag<T>;
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const K* keys[kGroup];
  for (int g = 0; g < kGroup; ++g) keys[g] = lookup.k.row(lookup.row(std::min(j + g, lookup.keys - 1)));
  const T* queries[kQueries];
  hn::Vec<D> sums[kQueries][kGroup];
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q) {
    queries[q] = lookup.q.row(i + q);
#pragma GCC unroll 16
    for (int g = 0; g < kGroup; ++g) sums[q][g] = hn::Zero(d);
  }
  const std::int64_t n = lookup.k.columns;
  std::int64_t c = 0;
  for (; c + lanes <= n; c += lanes) add_terms<kDistance, kQueries>(d, Whole<D>(), queries, keys, c, sums);
  if (c < n) {
    add_terms<kDistance, kQueries>(d, Part<D>{static_cast<std::size_t>(n - c)}, queries, keys, c, sums);
  }
  const std::int64_t count = std::min<std::int64_t>(kGroup, lookup.keys - j);
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q) {
    T group[kGroup];
    sum_each(d, sums[q], group);
    T* to = weights + (i + q) * lookup.keys + j;
    for (std::int64_t g = 0; g < count; ++g) to[g] = factor * group[g];
  }
}

// What lies behind `columns` numbers of a row is likely wanted soon, and processors do not see it coming: the next
// head's part of the row, or after the last head the row of the next hypothesis.
template <class K>
HWY_INLINE void prefetch_behind(const K* row, std::int64_t columns) {
  constexpr std::int64_t kLine = 64 / sizeof(K);
  for (std::int64_t c = 0; c < columns; c += kLine) hwy::Prefetch(row + columns + c);
}

// Keys in the outer loop: a key's row is fetched once for all queries.
template <bool kDistance, class T, class K>
void scores_of(const Lookup<T, K>& lookup, T factor, T* weights) {
  for (std::int64_t j = 0; j < lookup.keys; j += kGroup) {
    for (std::int64_t g = j; g < std::min(j + kGroup, lookup.keys); ++g) {
      prefetch_behind(lookup.k.row(lookup.row(g)), lookup.k.columns);
      prefetch_behind(lookup.v.row(lookup.row(g)), lookup.v.columns);
    }
    std::int64_t i = 0;
    for (; i + 2 <= lookup.q.rows; i += 2) scores_of_group<kDistance, 2>(lookup, factor, i, j, weights);
    if (i < lookup.q.rows) scores_of_group<kDistance, 1>(lookup, factor, i, j, weights);
  }
}

template <class T, class K>
void scores_serial(const Lookup<T, K>& lookup, T factor, bool distance, T* weights) {
  distance ? scores_of<true>(lookup, factor, weights) : scores_of<false>(lookup, factor, weights);
}

// Columns from `c` on, as many as kVectors vectors have (the one vector of a Part: fewer), of kQueries queries from row
// `i` on.
template <int kQueries, int kVectors, class Access, class T, class K>
HWY_INLINE void mix_block(Access access, const Lookup<T, K>& lookup, const T* weights, std::int64_t i, std::int64_t c,
                          Matrix<T> out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kQueries][kVectors];
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sums[q][v] = hn::Zero(d);
  }
  const T* rows = weights + i * lookup.keys;
  for (std::int64_t j = 0; j < lookup.keys; ++j) {
    const K* value = lookup.v.row(lookup.row(j)) + c;
    hn::Vec<decltype(d)> values[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) values[v] = load(d, access, value + v * lanes);
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q) {
      const auto weight = hn::Set(d, rows[q * lookup.keys + j]);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sums[q][v] = hn::MulAdd(weight, values[v], sums[q][v]);
    }
  }
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) access.store(sums[q][v], out.row(i + q) + c + v * lanes);
  }
}

template <int kQueries, class T, class K>
void mix_rows(const Lookup<T, K>& lookup, const T* weights, std::int64_t i, Matrix<T> out) {
  using D = hn::ScalableTag<T>;
  constexpr int kVectors = 4;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  std::int64_t c = 0;
  for (; c + kVectors * lanes <= out.columns; c += kVectors * lanes) {
    mix_block<kQueries, kVectors>(Whole<D>(), lookup, weights, i, c, out);
  }
  for (; c + lanes <= out.columns; c += lanes) mix_block<kQueries, 1>(Whole<D>(), lookup, weights, i, c, out);
  if (c < out.columns) {
    mix_block<kQueries, 1>(Part<D>{static_cast<std::size_t>(out.columns - c)}, lookup, weights, i, c, out);
  }
}

// Queries in groups, for which a value's row is fetched once; a query's sums have the same order in each.
template <class T, class K>
void mix_serial(const Lookup<T, K>& lookup, const T* weights, Matrix<T> out) {
  std::int64_t i = 0;
  for (; i + 4 <= out.rows; i += 4) mix_rows<4>(lookup, weights, i, out);
  for (; i + 2 <= out.rows; i += 2) mix_rows<2>(lookup, weights, i, out);
  if (i < out.rows) mix_rows<1>(lookup, weights, i, out);
}

template <class T, class K>
const LookupKernels<T, K>* lookup_table() {
  static constexpr LookupKernels<T, K> table{.scores = scores_serial<T, K>, .mix = mix_serial<T, K>};
  return &table;
}

}  // namespace

const LookupKernels<float, float>* lookup_table_f32() { return lookup_table<float, float>(); }
const LookupKernels<float, Bf16>* lookup_table_bf16() { return lookup_table<float, Bf16>(); }
const LookupKernels<double, double>* lookup_table_f64() { return lookup_table<double, double>(); }

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {

HWY_EXPORT(lookup_table_f32);
HWY_EXPORT(lookup_table_bf16);
HWY_EXPORT(lookup_table_f64);

template <>
const LookupKernels<float, float>& lookup_kernels() {
  return *HWY_DYNAMIC_DISPATCH(lookup_table_f32)();
}
template <>
const LookupKernels<float, Bf16>& lookup_kernels() {
  return *HWY_DYNAMIC_DISPATCH(lookup_table_bf16)();
}
template <>
const LookupKernels<double, double>& lookup_kernels() {
  return *HWY_DYNAMIC_DISPATCH(lookup_table_f64)();
}

}  // namespace zhuyi::kernels
#endif  // HWY_ONCE
