#include "kernels/targets.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/targets.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace zhuyi::kernels {
namespace HWY_NAMESPACE {
// NOLINTNEXTLINE: one of several definitions, one for each instruction set
std::int64_t target_bit() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace zhuyi::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace zhuyi::kernels {
namespace {

HWY_EXPORT(target_bit);

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

}  // namespace zhuyi::kernels
#endif
