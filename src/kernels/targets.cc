#include "kernels/targets.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/error.h"
#include "kernels/amx_check.h"

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

// Highway calls the plain build SCALAR, or EMU128 by clang; on x86-64 the compiler makes SSE2 of it.
std::string name_of(std::int64_t target) {
  return target == HWY_SCALAR || target == HWY_EMU128 ? "SSE2" : hwy::TargetName(target);
}

// And AVX-512 AVX3.
std::string path_of(const std::string& target) {
  return target == "AVX3" ? "avx512" : target == "AVX2" ? "avx2" : target == "SSE2" ? "sse2" : target;
}

// Whether this CPU has AMX and what comes with it, and the system lets this process use it. Tiles are big, so Linux
// gives them only to processes that ask (arch_prctl, since 5.16).
bool amx_granted() {
  if (__builtin_cpu_supports("avx512bf16") == 0 || __builtin_cpu_supports("avx512vnni") == 0) return false;
  if (available_targets().front() != "AVX3") return false;
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kNeeded = 1U << 22 | 1U << 24 | 1U << 25;  // AMX-BF16, AMX-TILE, AMX-INT8
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kNeeded) != kNeeded) return false;
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool cpu_has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1U << 4) != 0;
}

const AmxUse& usable_amx() {
  static const AmxUse use = check_amx<AmxTiles>(amx_granted());
  return use;
}

// Whether use_path chose to do without AMX, or AVX-VNNI. Like Highway's own choice of a target, which it belongs to, it
// holds for the process.
std::atomic<bool>& without_extension() {
  static std::atomic<bool> without = false;
  return without;
}

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

std::vector<std::string> available_paths() {
  std::vector<std::string> paths;
  for (const std::string& target : available_targets()) {
    if (target == "AVX3" && usable_amx().use) paths.emplace_back("amx");
    if (target == "AVX2" && cpu_has_avx_vnni()) paths.emplace_back("avxvnni");
    paths.push_back(path_of(target));
  }
  return paths;
}

std::string current_path() {
  if (has_amx()) return "amx";
  return has_avx_vnni() ? "avxvnni" : path_of(current_target());
}

void use_path(const std::string& name) {
  const std::vector<std::string> paths = available_paths();
  base::check(std::find(paths.begin(), paths.end(), name) != paths.end(),
              "there are no kernels \"{}\" on this machine; it runs {}", name, fmt::join(paths, ", "));
  const bool extended = name == "amx" || name == "avxvnni";
  for (const std::string& target : available_targets()) {
    if (path_of(target) == (name == "amx" ? "avx512" : name == "avxvnni" ? "avx2" : name)) use_target(target);
  }
  without_extension() = !extended;
}

std::string path_report() { return usable_amx().report; }

bool has_amx() { return has_bf16() && has_vnni() && !without_extension() && usable_amx().use; }

bool has_avx_vnni() {
  static const bool has = cpu_has_avx_vnni();
  return has && HWY_DYNAMIC_DISPATCH(target_bit)() == HWY_AVX2 && !without_extension();
}

}  // namespace zhuyi::kernels
#endif
