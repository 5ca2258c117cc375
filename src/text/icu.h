#pragma once
// Errors of ICU as ours.

#include <unicode/utypes.h>

#include <string_view>

#include "base/error.h"

namespace zhuyi::text {

// Throws internal, naming what was asked of ICU, when it failed.
inline void check_icu(UErrorCode status, std::string_view what) {
  base::check_kind(U_SUCCESS(status) != 0, base::ErrorKind::internal, "{}: ICU reports {}", what, u_errorName(status));
}

}  // namespace zhuyi::text
