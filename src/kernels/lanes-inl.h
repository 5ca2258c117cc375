// Loops over the lanes of vectors, the last and shorter vector included. Included once for every instruction set, so
// there is no #pragma once.
//
// A last vector goes through the same arithmetic as a whole one: an element's result does not depend on where the end
// is.

#if defined(ZHUYI_KERNELS_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ZHUYI_KERNELS_LANES_INL_H_
#undef ZHUYI_KERNELS_LANES_INL_H_
#else
#define ZHUYI_KERNELS_LANES_INL_H_
#endif

#include <cstdint>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Reads and writes a whole vector.
template <class D>
struct Whole {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;

  HWY_INLINE V load(const T* from) const { return hn::LoadU(D(), from); }
  HWY_INLINE void store(V v, T* to) const { hn::StoreU(v, D(), to); }
  // v with `other` in the lanes beyond the end.
  HWY_INLINE V or_else(V v, V) const { return v; }
};

// Reads and writes the first `count` lanes only; the others read 0.
template <class D>
struct Part {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;

  std::size_t count;

  HWY_INLINE V load(const T* from) const {
    const D d;
#if HWY_TARGET <= HWY_AVX2
    return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
    HWY_ALIGN T lanes[hn::MaxLanes(D())] = {};
    for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
    return hn::Load(d, lanes);
#endif
  }
  HWY_INLINE void store(V v, T* to) const {
    const D d;
#if HWY_TARGET <= HWY_AVX2
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#else
    HWY_ALIGN T lanes[hn::MaxLanes(D())];
    hn::Store(v, d, lanes);
    for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
  }
  HWY_INLINE V or_else(V v, V other) const { return hn::IfThenElse(hn::FirstN(D(), count), v, other); }
};

// Calls body(access, i) for the vectors at i = 0, lanes, 2 lanes, ... of n elements.
template <class D, class Body>
HWY_INLINE void for_lanes(D d, std::int64_t n, const Body& body) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(Whole<D>(), i);
  if (i < n) body(Part<D>{static_cast<std::size_t>(n - i)}, i);
}

// The sum of all lanes of term(access, i), in an order that depends on n alone: four running sums, so that one addition
// need not wait for another.
template <class D, class Term>
HWY_INLINE hn::TFromD<D> sum_lanes(D d, std::int64_t n, const Term& term) {
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d);
  auto b = hn::Zero(d);
  auto c = hn::Zero(d);
  auto e = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, term(Whole<D>(), i));
    b = hn::Add(b, term(Whole<D>(), i + lanes));
    c = hn::Add(c, term(Whole<D>(), i + 2 * lanes));
    e = hn::Add(e, term(Whole<D>(), i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Add(a, term(Whole<D>(), i));
  if (i < n) {
    const Part<D> part{static_cast<std::size_t>(n - i)};
    b = hn::Add(b, part.or_else(term(part, i), hn::Zero(d)));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

// The largest of n elements. A NaN may go unseen here; it comes back with the elements themselves.
template <class D>
HWY_INLINE hn::TFromD<D> largest(D d, const hn::TFromD<D>* x, std::int64_t n) {
  const auto lowest = hn::Set(d, -std::numeric_limits<hn::TFromD<D>>::infinity());
  auto result = lowest;
  for_lanes(d, n, [&](auto access, std::int64_t i) HWY_ATTR {
    result = hn::Max(result, access.or_else(access.load(x + i), lowest));
  });
  return hn::GetLane(hn::MaxOfLanes(d, result));
}

}  // namespace zhuyi::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
