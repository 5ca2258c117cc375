#pragma once
// CRC-32 (ISO 3309, as in gzip) of bytes that come in pieces.

#include <cstdint>
#include <string_view>

namespace zhuyi::formats {

// value() is the CRC-32 of everything that was added, in order; "123456789" gives cbf43926.
class Checksum {
 public:
  // Large pieces are read in several threads.
  void add(std::string_view bytes);
  std::uint32_t value() const { return value_; }

 private:
  std::uint32_t value_ = 0;
};

}  // namespace zhuyi::formats
