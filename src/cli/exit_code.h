#pragma once
// What the program's exit codes mean.

#include "base/error.h"

namespace zhuyi::cli {

inline constexpr int kUsage = 2;
inline constexpr int kBadFile = 3;
inline constexpr int kBadModel = 4;
inline constexpr int kSystem = 5;
inline constexpr int kInterrupted = 130;

constexpr int exit_code(base::ErrorKind kind) {
  switch (kind) {
    case base::ErrorKind::invalid_argument:
    case base::ErrorKind::unsupported:
      return kUsage;
    case base::ErrorKind::not_found:
    case base::ErrorKind::bad_file:
      return kBadFile;
    case base::ErrorKind::bad_model:
      return kBadModel;
    case base::ErrorKind::interrupted:
      return kInterrupted;
    case base::ErrorKind::system:
    case base::ErrorKind::internal:
      break;
  }
  return kSystem;
}

}  // namespace zhuyi::cli
