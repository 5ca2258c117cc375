#pragma once
// Sizes of memory as people write them.

#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace zhuyi::base {

// "4G", "512M", "100000K" or bytes, as bytes. Throws invalid_argument for anything else, naming the option.
inline std::int64_t memory_of(std::string_view text, std::string_view option) {
  const std::string_view units = "KMG";
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  const std::size_t unit = rest == end ? std::string_view::npos : units.find(*rest);
  const std::size_t shift = unit == std::string_view::npos ? 0 : 10 * (unit + 1);
  const bool whole = rest == end || (unit != std::string_view::npos && rest + 1 == end);
  check(code == std::errc() && whole && number >= 0 && number < (std::int64_t{1} << (62 - shift)),
        "{} is '{}', expected a size such as 8G or 700M (0: no limit)", option, text);
  return number << shift;
}

}  // namespace zhuyi::base
