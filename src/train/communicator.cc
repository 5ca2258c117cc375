#include "train/communicator.h"

#include <bit>
#include <cmath>
#include <cstdlib>

namespace zhuyi::train {

std::string broadcast(Communicator& processes, std::string text) {
  std::uint64_t size = text.size();
  processes.broadcast(std::as_writable_bytes(std::span(&size, 1)));
  text.resize(size);
  processes.broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

double broadcast(Communicator& processes, double number) {
  processes.broadcast(std::as_writable_bytes(std::span(&number, 1)));
  return number;
}

void OneProcess::abort(int exit_code) { std::_Exit(exit_code); }

std::uint16_t to_bfloat16(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  constexpr std::uint32_t kQuiet = 0x40;  // keeps a NaN from becoming infinity when its low half is cut off
  if (std::isnan(number)) return static_cast<std::uint16_t>((bits >> 16) | kQuiet);
  const std::uint32_t half = 0x7fff + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>((bits + half) >> 16);
}

float from_bfloat16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace zhuyi::train
