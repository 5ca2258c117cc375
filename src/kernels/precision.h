#pragma once
// The words for precisions, as model files, options and reports write them.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kernels/gemm.h"

namespace zhuyi::kernels {

inline constexpr std::array<std::string_view, 3> kPrecisionNames = {"f32", "bf16", "int8"};  // in Precision's order

inline std::string name_of(Precision precision) {
  return std::string(kPrecisionNames[static_cast<std::size_t>(precision)]);
}

// Throws invalid_argument for another word.
inline Precision precision_of(std::string_view name) {
  const auto* found = std::find(kPrecisionNames.begin(), kPrecisionNames.end(), name);
  base::check(found != kPrecisionNames.end(), "the precision is '{}', expected f32, bf16 or int8", name);
  return static_cast<Precision>(found - kPrecisionNames.begin());
}

}  // namespace zhuyi::kernels
