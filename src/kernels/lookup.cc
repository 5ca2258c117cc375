#include "kernels/serial.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/lookup.cc"
#include "hwy/foreach_target.h"
//
#include "kernels/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {
namespace {

template <class T>
T product(const T* q, const T* k, std::int64_t n) {
  const hn::ScalableTag<T> d;
  return sum_lanes(
      d, n, [&](auto access, std::int64_t i) HWY_ATTR { return hn::Mul(access.load(q + i), access.load(k + i)); });
}

template <class T>
T squared_distance(const T* q, const T* k, std::int64_t n) {
  const hn::ScalableTag<T> d;
  return sum_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
    const auto difference = hn::Sub(access.load(q + i), access.load(k + i));
    return hn::Mul(difference, difference);
  });
}

// Keys in the outer loop: a key's row is fetched once for all queries.
template <class T>
void scores_serial(const Lookup<T>& lookup, T factor, bool distance, T* weights) {
  for (std::int64_t j = 0; j < lookup.keys; ++j) {
    const T* key = lookup.k.row(lookup.rows[j]);
    for (std::int64_t i = 0; i < lookup.q.rows; ++i) {
      const T* query = lookup.q.row(i);
      weights[i * lookup.keys + j] =
          factor * (distance ? squared_distance(query, key, lookup.k.columns) : product(query, key, lookup.k.columns));
    }
  }
}

template <class T>
void mix_serial(const Lookup<T>& lookup, const T* weights, Matrix<T> out) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < out.rows; ++i) {
    const T* row = weights + i * lookup.keys;
    T* to = out.row(i);
    std::int64_t c = 0;
    for (; c + 4 * lanes <= out.columns; c += 4 * lanes) {
      auto s0 = hn::Zero(d);
      auto s1 = hn::Zero(d);
      auto s2 = hn::Zero(d);
      auto s3 = hn::Zero(d);
      for (std::int64_t j = 0; j < lookup.keys; ++j) {
        const auto weight = hn::Set(d, row[j]);
        const T* value = lookup.v.row(lookup.rows[j]) + c;
        s0 = hn::MulAdd(weight, hn::LoadU(d, value), s0);
        s1 = hn::MulAdd(weight, hn::LoadU(d, value + lanes), s1);
        s2 = hn::MulAdd(weight, hn::LoadU(d, value + 2 * lanes), s2);
        s3 = hn::MulAdd(weight, hn::LoadU(d, value + 3 * lanes), s3);
      }
      hn::StoreU(s0, d, to + c);
      hn::StoreU(s1, d, to + c + lanes);
      hn::StoreU(s2, d, to + c + 2 * lanes);
      hn::StoreU(s3, d, to + c + 3 * lanes);
    }
    for_lanes(d, out.columns - c, [&](auto access, std::int64_t e) HWY_ATTR {
      auto sum = hn::Zero(d);
      for (std::int64_t j = 0; j < lookup.keys; ++j) {
        sum = hn::MulAdd(hn::Set(d, row[j]), access.load(lookup.v.row(lookup.rows[j]) + c + e), sum);
      }
      access.store(sum, to + c + e);
    });
  }
}

template <class T>
const LookupKernels<T>* lookup_table() {
  static constexpr LookupKernels<T> table{.scores = scores_serial<T>, .mix = mix_serial<T>};
  return &table;
}

}  // namespace

const LookupKernels<float>* lookup_table_f32() { return lookup_table<float>(); }
const LookupKernels<double>* lookup_table_f64() { return lookup_table<double>(); }

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {

HWY_EXPORT(lookup_table_f32);
HWY_EXPORT(lookup_table_f64);

template <>
const LookupKernels<float>& lookup_kernels() {
  return *HWY_DYNAMIC_DISPATCH(lookup_table_f32)();
}
template <>
const LookupKernels<double>& lookup_kernels() {
  return *HWY_DYNAMIC_DISPATCH(lookup_table_f64)();
}

}  // namespace zhuyi::kernels
#endif  // HWY_ONCE
