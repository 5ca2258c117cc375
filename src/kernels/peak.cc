#include "kernels/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/amx_block.h"
#include "kernels/precision.h"
#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The multiply-adds of one step of multiply_add_chains.
#if HWY_TARGET == HWY_SCALAR
constexpr int kChains = 32;
#else
constexpr int kChains = 12;
#endif
std::int64_t multiply_adds() { return kChains * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>())); }

// Independent chains of multiply-adds in registers. Returns their sum, which makes the work necessary.
float multiply_add_chains(std::int64_t steps) {
  const hn::ScalableTag<float> d;
#if HWY_TARGET == HWY_SCALAR
  float chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = static_cast<float>(i);
  for (std::int64_t step = 0; step < steps; ++step) {
    for (float& chain : chains) chain = chain * 0.5f + 0.25f;
  }
  float sum = 0;
  for (const float chain : chains) sum += chain;
  return sum + hn::GetLane(hn::Zero(d));
#else
  using V = hn::Vec<decltype(d)>;
  const V factor = hn::Set(d, 0.5f);
  const V term = hn::Set(d, 0.25f);
  V chains[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) chains[i] = hn::Set(d, static_cast<float>(i));
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) chains[i] = hn::MulAdd(chains[i], factor, term);
  }
  V sum = hn::Zero(d);
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sum = hn::Add(sum, chains[i]);
  return hn::GetLane(hn::SumOfLanes(d, sum));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace zhuyi::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {
namespace {

HWY_EXPORT(multiply_adds);
HWY_EXPORT(multiply_add_chains);

constexpr std::int64_t kSteps = 1 << 20;

// A way to keep the registers busy: `steps` of it, which give a positive number, are measured at a time.
struct Probe {
  float (*run)(std::int64_t steps);
  std::int64_t steps;
  std::int64_t multiply_adds;  // of a step
};

constexpr int kBf16Chains = 12;

[[gnu::target("avx512f,avx512bw,avx512vl,avx512bf16")]] float bf16_chains(std::int64_t steps) {
  const __m512i quarters = _mm512_set1_epi32(0x3E803E80);  // pairs of 0.25
  __m512 chains[kBf16Chains];
#pragma GCC unroll 16
  for (int i = 0; i < kBf16Chains; ++i) chains[i] = _mm512_set1_ps(static_cast<float>(i));
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 16
    for (int i = 0; i < kBf16Chains; ++i) chains[i] = Bf16Pairs::dot(chains[i], quarters, quarters);
  }
  __m512 sum = chains[0];
#pragma GCC unroll 16
  for (int i = 1; i < kBf16Chains; ++i) sum = _mm512_add_ps(sum, chains[i]);
  return _mm512_cvtss_f32(sum);
}

// Tiles of zeros: AMX is as fast with any numbers.
float amx_chains(std::int64_t steps) {
  AmxTiles::begin();
  AmxTiles::zero<0>();
  AmxTiles::zero<1>();
  AmxTiles::zero<2>();
  AmxTiles::zero<3>();
  AmxTiles::zero<4>();
  AmxTiles::zero<5>();
  AmxTiles::zero<6>();
  AmxTiles::zero<7>();
  for (std::int64_t step = 0; step < steps; ++step) {
    AmxTiles::dot<Bf16Pairs, 0, 4, 6>();
    AmxTiles::dot<Bf16Pairs, 1, 4, 7>();
    AmxTiles::dot<Bf16Pairs, 2, 5, 6>();
    AmxTiles::dot<Bf16Pairs, 3, 5, 7>();
  }
  AmxTiles::end();
  return 1;
}

Probe probe_for(Precision precision) {
  if (precision == Precision::f32) {
    const auto run = [](std::int64_t steps) { return HWY_DYNAMIC_DISPATCH(multiply_add_chains)(steps); };
    return {run, kSteps, HWY_DYNAMIC_DISPATCH(multiply_adds)()};
  }
  base::check(precision == Precision::bf16 && has_bf16(), "peak_gflops: {} on {}; wanted f32, or bf16 where it is",
              name_of(precision), current_target());
  // 4 products of tiles [16, 32] and [32, 16] a step
  if (has_amx()) return {amx_chains, kSteps / 8, 4 * 16 * 16 * 32};
  return {bf16_chains, kSteps, kBf16Chains * 32};
}

}  // namespace

PeakChains run_peak_chains(Precision precision, std::int64_t steps) {
  const Probe probe = probe_for(precision);
  return {probe.run(steps), steps * probe.multiply_adds};
}

double peak_gflops(int threads, Precision precision, double seconds) {
  base::check(threads >= 1, "peak_gflops: {} threads; wanted at least 1", threads);
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const Probe probe = probe_for(precision);
  const int before = base::threads();
  base::set_threads(threads);
  std::vector<float> sums(static_cast<std::size_t>(threads));
  double best = 1e30;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    base::parallel_for(threads, 1, [&](std::int64_t thread, std::int64_t) {
      sums[static_cast<std::size_t>(thread)] += probe.run(probe.steps);
    });
    best = std::min(best, Seconds(Clock::now() - start).count());
  } while (Seconds(Clock::now() - begin).count() < seconds);
  base::set_threads(before);
  base::check(sums[0] > 0, "peak_gflops: the sum of the chains is {}; wanted a positive number", sums[0]);
  return 2 * static_cast<double>(probe.steps * probe.multiply_adds) * threads / best / 1e9;
}

}  // namespace zhuyi::kernels
#endif
