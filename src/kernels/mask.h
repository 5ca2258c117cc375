#pragma once
// The dropout mask as 32-bit integers: one definition for single elements and for vectors of them.

#include <algorithm>
#include <cstdint>

#include "base/random.h"
#include "kernels/vector.h"

namespace zhuyi::kernels {

// Element i is kept when hash(first ^ low half of i, second) >= threshold; see mask_hash. Valid for elements with the
// same high half of i.
struct MaskKey {
  std::uint32_t first;
  std::uint32_t second;
  std::uint32_t threshold;
};

// The key is mixed as a whole first, so that keys that differ in one bit give unrelated masks.
inline MaskKey mask_key(const Dropout& dropout, std::int64_t i) {
  const std::uint64_t high = static_cast<std::uint64_t>(i) >> 32;
  const std::uint64_t key = base::mix(dropout.key ^ (high * 0x9e3779b97f4a7c15u));
  const double threshold = std::min(dropout.rate * 0x1p32, 0x1p32 - 1);
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32),
          static_cast<std::uint32_t>(threshold)};
}

// A bijective mixer of 32 bits ("lowbias32", Wellons, 2018).
constexpr std::uint32_t mix32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

// Two rounds, each with its half of the key; `low` is the low half of the element's number.
constexpr std::uint32_t mask_hash(const MaskKey& key, std::uint32_t low) {
  return mix32(mix32(low ^ key.first) ^ key.second);
}

}  // namespace zhuyi::kernels
