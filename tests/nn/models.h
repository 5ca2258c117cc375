#pragma once
// Small models and sentences for the tests of the network.

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "nn/transformer.h"

namespace zhuyi::nn {

using autograd::ParameterPtr;

// Narrow and shallow, but with several heads and layers; dropout off.
inline Config small_config() {
  Config config;
  config.source_vocabulary = config.target_vocabulary = 50;
  config.d_model = 16;
  config.d_ff = 24;
  config.heads = 2;
  config.encoder_layers = config.decoder_layers = 2;
  config.dropout = 0;
  return config;
}

inline constexpr std::int32_t kBos = 1;
inline constexpr std::int32_t kEos = 2;

// `length` ids in [first, first + count).
inline std::vector<std::int32_t> sentence(std::int64_t length, std::int32_t first, std::int64_t count,
                                          std::uint64_t key) {
  base::Random random(key);
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < length; ++i) ids.push_back(first + static_cast<std::int32_t>(random.below(count)));
  return ids;
}

// Values other than the first ones (biases and gains too), so that every parameter matters.
inline void randomize(Transformer& model, std::uint64_t key, double deviation) {
  base::Random random(key);
  for (const ParameterPtr& parameter : model.parameters().list()) {
    tensor::visit(parameter->value.dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (T& x : parameter->value.data<T>())
        x = static_cast<T>(x + static_cast<T>(static_cast<float>(deviation * random.normal())));
    });
  }
}

// Rows [begin, end) as bytes, to compare bit for bit.
inline std::string bytes_of(const tensor::Tensor& tensor, std::int64_t begin, std::int64_t end) {
  return tensor::visit(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::span<const T> numbers = tensor.slice(begin, end).data<T>();
    return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  });
}

}  // namespace zhuyi::nn
