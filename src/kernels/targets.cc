#include "kernels/targets.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/error.h"
#include "base/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/targets.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// NOLINTNEXTLINE: one of several definitions, one for each instruction set
std::int64_t target_bit() { return HWY_TARGET; }

// The number of multiply-adds that one call of multiply_add_chains with `steps` does.
#if HWY_TARGET == HWY_SCALAR
constexpr int kChains = 32;
#else
constexpr int kChains = 12;
#endif
std::int64_t multiply_adds(std::int64_t steps) {
  return steps * kChains * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
}

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

HWY_EXPORT(target_bit);
HWY_EXPORT(multiply_adds);
HWY_EXPORT(multiply_add_chains);

// Highway calls the plain build SCALAR; on x86-64 the compiler makes SSE2 of it.
std::string name_of(std::int64_t target) { return target == HWY_SCALAR ? "SSE2" : hwy::TargetName(target); }

}  // namespace

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.push_back(name_of(target));
  return names;
}

std::string current_target() { return name_of(HWY_DYNAMIC_DISPATCH(target_bit)()); }

void use_target(const std::string& name) {
  if (name.empty()) {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return;
  }
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name_of(target) == name) {
      hwy::GetChosenTarget().Update(target);
      return;
    }
  }
  base::fail(base::ErrorKind::invalid_argument, "use_target: \"{}\" is not available; this CPU runs {}", name,
             fmt::join(available_targets(), ", "));
}

bool has_bf16() { return HWY_DYNAMIC_DISPATCH(target_bit)() == HWY_AVX3 && __builtin_cpu_supports("avx512bf16") != 0; }

bool has_vnni() { return HWY_DYNAMIC_DISPATCH(target_bit)() == HWY_AVX3 && __builtin_cpu_supports("avx512vnni") != 0; }

bool has_amx() {
  // Tiles are big, so Linux gives them only to processes that ask (arch_prctl, since 5.16).
  static const bool granted = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kNeeded = 1U << 22 | 1U << 24 | 1U << 25;  // AMX-BF16, AMX-TILE, AMX-INT8
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kNeeded) != kNeeded) return false;
    constexpr long kRequestPermission = 0x1023;
    constexpr long kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return granted && has_bf16() && has_vnni();
}

double peak_gflops(int threads) {
  base::check(threads >= 1, "peak_gflops: {} threads; wanted at least 1", threads);
  const int before = base::threads();
  base::set_threads(threads);
  constexpr std::int64_t kSteps = 1 << 20;
  constexpr int kRepetitions = 9;
  std::vector<float> sums(static_cast<std::size_t>(threads));
  double best = 1e30;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    base::parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t) {
      sums[static_cast<std::size_t>(begin)] += HWY_DYNAMIC_DISPATCH(multiply_add_chains)(kSteps);
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  base::set_threads(before);
  base::check(sums[0] > 0, "peak_gflops: the sum of the chains is {}; wanted a positive number", sums[0]);
  const auto work = static_cast<double>(HWY_DYNAMIC_DISPATCH(multiply_adds)(kSteps));
  return 2 * work * threads / best / 1e9;
}

}  // namespace zhuyi::kernels
#endif
