#include "formats/checksum.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "base/parallel.h"

namespace zhuyi::formats {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 20;  // bytes that one thread reads at a time

}  // namespace

void Checksum::add(std::string_view bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  std::vector<uLong> sums(static_cast<std::size_t>((size + kPiece - 1) / kPiece));
  base::parallel_for(size, kPiece, [&](std::int64_t begin, std::int64_t end) {
    sums[static_cast<std::size_t>(begin / kPiece)] =
        crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()) + begin, static_cast<std::size_t>(end - begin));
  });
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int64_t length = std::min(kPiece, size - static_cast<std::int64_t>(i) * kPiece);
    value_ = static_cast<std::uint32_t>(crc32_combine(value_, sums[i], length));
  }
}

}  // namespace zhuyi::formats
