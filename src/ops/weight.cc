#include "ops/weight.h"

#include <type_traits>
#include <utility>

#include "base/error.h"

namespace zhuyi::ops {
namespace {

void check_table(const PlainStorage& declared, std::span<const std::int32_t> outputs) {
  base::check(declared.transposed, "{} is no table of outputs", declared.parameter->name);
  for (const std::int32_t output : outputs) {
    base::check(output >= 0 && output < declared.outputs(), "output {} is outside {} with {} rows", output,
                declared.parameter->name, declared.outputs());
  }
}

}  // namespace

Storage read_storage(std::string_view name, const PlainStorage& declared, const ArraySource& arrays) {
  if (name == "f32") return declared;
  if (name == "bf16") return PlainStorage{declared.parameter, declared.transposed, true};
  if (name == "int8") return Int8Storage::read(declared, arrays);
  base::fail(base::ErrorKind::bad_model, "its precision is '{}', expected f32, bf16 or int8", name);
}

const PlainStorage* Weight::plain() const {
  if (const auto* packed = std::get_if<PackedStorage>(&storage_)) return &packed->plain();
  return std::get_if<PlainStorage>(&storage_);
}

template <class T>
void Weight::product(kernels::ConstMatrix<T> x, kernels::Matrix<T> out, const kernels::GemmOptions<T>& options,
                     bool recording) const {
  if constexpr (std::is_same_v<T, float>) {
    if (!recording) return std::visit([&](const auto& kept) { kept.product(x, out, options); }, storage_);
  }
  const PlainStorage* numbers = plain();
  base::check(numbers != nullptr, "{} is kept in {}: such a model translates in f32 and cannot be trained", name(),
              stored_as());
  kernels::GemmOptions<T> in_precision = options;
  in_precision.precision = precision(recording);
  numbers->product<T>(x, out, in_precision);
}

template void Weight::product(kernels::ConstMatrix<float>, kernels::Matrix<float>, const kernels::GemmOptions<float>&,
                              bool) const;
template void Weight::product(kernels::ConstMatrix<double>, kernels::Matrix<double>,
                              const kernels::GemmOptions<double>&, bool) const;

template <class T>
void Weight::rows(std::span<const std::int32_t> outputs, T factor, kernels::Matrix<T> to) const {
  check_table(declared_, outputs);
  if constexpr (std::is_same_v<T, float>) {
    std::visit([&](const auto& kept) { kept.rows(outputs, factor, to); }, storage_);
  } else {
    const PlainStorage* numbers = plain();
    base::check(numbers != nullptr, "{} is kept in {}, expected numbers in f64", name(), stored_as());
    numbers->rows<T>(outputs, factor, to);
  }
}

template void Weight::rows(std::span<const std::int32_t>, float, kernels::Matrix<float>) const;
template void Weight::rows(std::span<const std::int32_t>, double, kernels::Matrix<double>) const;

Weight Weight::subset(std::span<const std::int32_t> outputs) const {
  check_table(declared_, outputs);
  auto some = std::make_shared<autograd::Parameter>();
  some->name = name();
  some->rows = std::ssize(outputs);
  some->columns = inputs();
  Weight weight(some, true);
  std::visit([&](const auto& kept) { weight.keep(kept.subset(outputs)); }, storage_);
  return weight;
}

std::string_view Weight::stored_as() const {
  return std::visit([](const auto& kept) { return kept.name(); }, storage_);
}

std::vector<StoredArray> Weight::arrays() const {
  return std::visit([](const auto& kept) { return kept.arrays(); }, storage_);
}

tensor::DType Weight::dtype() const {
  const PlainStorage* numbers = plain();
  return numbers == nullptr ? tensor::DType::f32 : numbers->parameter->value.dtype();
}

tensor::DType Weight::kept() const {
  return std::visit([](const auto& kept) { return kept.kept(); }, storage_);
}

void Weight::pack() {
  if (const auto* numbers = std::get_if<PlainStorage>(&storage_)) storage_ = PackedStorage(*numbers);
}

}  // namespace zhuyi::ops
