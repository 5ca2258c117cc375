#include "train/precision.h"

#include "base/error.h"
#include "train/options.h"

namespace zhuyi::train {

using kernels::Precision;

Precision decided_precision(Communicator& processes, std::optional<Precision> asked, const std::string& saved_options,
                            bool has_bf16) {
  const std::optional<Precision> kept = saved_precision(broadcast(processes, saved_options));
  double able = has_bf16 ? 1 : 0;
  processes.sum(std::span<double>(&able, 1));
  const bool all_able = able == static_cast<double>(processes.size());
  const Precision decided = asked.value_or(kept.value_or(all_able ? Precision::bf16 : Precision::f32));
  base::check_kind(
      decided == Precision::f32 || has_bf16, base::ErrorKind::unsupported,
      "the products of this run are computed in bf16, as its checkpoint says, and the CPU of process {} of "
      "{} has no arithmetic for that (AVX512-BF16); continue it on CPUs that have, or start another run "
      "--from its model",
      processes.rank(), processes.size());
  return decided;
}

}  // namespace zhuyi::train
