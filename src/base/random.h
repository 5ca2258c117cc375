#pragma once
// Random numbers as a pure function of (seed, stream, step, index): nothing is stored, nothing depends on threads.

#include <cstdint>
#include <span>
#include <utility>

namespace zhuyi::base {

// A bijective mixer of 64 bits (the finaliser of SplitMix64; Steele, Lea, Flood, 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The key of one use of randomness: combine(seed, purpose, step, ...) gives independent values for different arguments.
template <class... Parts>
constexpr std::uint64_t combine(std::uint64_t first, Parts... rest) {
  std::uint64_t key = mix(first);
  ((key = mix(key ^ static_cast<std::uint64_t>(rest))), ...);
  return key;
}

// A sequence of random numbers under one key. The n-th number is a function of (key, n).
class Random {
 public:
  explicit Random(std::uint64_t key) : key_(key) {}

  std::uint64_t bits() { return mix(key_ + 0xd1342543de82ef95u * ++count_); }
  // Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }
  // Uniform in [0, bound), 1 <= bound < 2^31 (Lemire, 2019, without rejection: the bias is below 2^-32).
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(((bits() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }
  // Standard normal (Box, Muller, 1958).
  double normal();

  // Fisher-Yates.
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::int64_t i = static_cast<std::int64_t>(items.size()) - 1; i > 0; --i) {
      std::swap(items[static_cast<std::size_t>(i)], items[static_cast<std::size_t>(below(i + 1))]);
    }
  }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

}  // namespace zhuyi::base
