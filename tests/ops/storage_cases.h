#pragma once
// One table of the ways to keep a weight (ops/storage.h): a row gives a storage its tests.

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ops/weight.h"

namespace zhuyi::ops {

// A way to keep a weight.
struct StorageRow {
  std::string name;
  std::string stored_as;  // the word in model files
  std::function<Storage(const PlainStorage& plain)> make;
  // What a number that is kept becomes, beside the largest of its output: the oracle of the tests, by plain arithmetic.
  std::function<double(double number, double largest)> kept;
  // The same of a number of a product's left-hand side, beside the largest of its row.
  std::function<double(double number, double largest)> multiplied;
  tensor::DType keys = tensor::DType::f32;  // what keys and values that it gives are kept in
};

namespace storage_cases {

inline double same(double number, double /*largest*/) { return number; }

// The nearest multiple of largest / 127, the scale being f32.
inline double in_int8(double number, double largest) {
  if (largest == 0) return 0;
  const auto scale = static_cast<double>(static_cast<float>(largest) / 127.0F);
  return std::nearbyint(number * 127 / largest) * scale;
}

// The nearest number with 8 significant bits, ties to even.
inline double in_bf16(double number, double /*largest*/) {
  int exponent = 0;
  const double mantissa = std::frexp(number, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, 8)), exponent - 8);
}

inline PlainStorage rounded(const PlainStorage& plain) { return {plain.parameter, plain.transposed, true}; }

}  // namespace storage_cases

// A weight that is kept in bf16 holds such numbers before (infer/quantize.h rounds them): rows with stored_as bf16 are
// given rounded ones.
inline std::vector<StorageRow> storage_table() {
  using namespace storage_cases;
  const auto multiplies_bf16 = kernels::has_precision(kernels::Precision::bf16) ? in_bf16 : same;
  return {
      {"plain", "f32", [](const PlainStorage& plain) -> Storage { return plain; }, same, same},
      {"plain_bf16", "bf16", [](const PlainStorage& plain) -> Storage { return rounded(plain); }, in_bf16, same,
       tensor::DType::bf16},
      {"packed", "f32", [](const PlainStorage& plain) -> Storage { return PackedStorage(plain); }, same, same},
      {"packed_bf16", "bf16", [](const PlainStorage& plain) -> Storage { return PackedStorage(rounded(plain)); },
       in_bf16, multiplies_bf16, tensor::DType::bf16},
      {"int8", "int8", [](const PlainStorage& plain) -> Storage { return Int8Storage(plain); }, in_int8, in_int8,
       tensor::DType::bf16},
  };
}

}  // namespace zhuyi::ops
