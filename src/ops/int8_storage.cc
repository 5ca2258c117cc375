#include "ops/int8_storage.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace zhuyi::ops {
namespace {

// Behind the weight's name: the panels, the scales of the outputs and the sums of their integers.
constexpr const char* kPanels = ".int8";
constexpr const char* kScales = ".scales";
constexpr const char* kSums = ".sums";

}  // namespace

Int8Storage Int8Storage::read(const PlainStorage& declared, const ArraySource& arrays) {
  const std::string& name = declared.parameter->name;
  const std::span<const float> scales = arrays.numbers(name + kScales);
  base::check_kind(std::all_of(scales.begin(), scales.end(), [](float v) { return std::isfinite(v) && v >= 0; }),
                   base::ErrorKind::bad_model, "{} has a scale that is not finite", name);
  return Int8Storage(kernels::Int8Matrix(declared.inputs(), declared.outputs(), arrays.bytes(name + kPanels), scales,
                                         arrays.integers(name + kSums), arrays.owner()));
}

void Int8Storage::rows(std::span<const std::int32_t> outputs, float factor, kernels::Matrix<float> to) const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    numbers_.column(outputs[i], factor, to.row(static_cast<std::int64_t>(i)));
  }
}

std::vector<StoredArray> Int8Storage::arrays() const {
  const std::span<const float> scales = numbers_.scales();
  return {{kPanels, numbers_.panels()},
          {kSums, numbers_.column_sums()},
          {kScales, tensor::Tensor::of(1, std::ssize(scales), {scales.begin(), scales.end()})}};
}

}  // namespace zhuyi::ops
