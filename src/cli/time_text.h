#pragma once
// Seconds as people write them.

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace zhuyi::cli {

// "0:07", "59:59" or "1:00:00"; fractions of a second are cut off.
inline std::string time_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace zhuyi::cli
