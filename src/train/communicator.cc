#include "train/communicator.h"

#include <cstdlib>

#include "kernels/quantize.h"

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

std::uint16_t to_bfloat16(float number) { return kernels::to_bf16(number).bits; }

float from_bfloat16(std::uint16_t bits) { return kernels::from_bf16({bits}); }

}  // namespace zhuyi::train
