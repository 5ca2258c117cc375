#include "autograd/parameter.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.h"

namespace zhuyi::autograd {
namespace {

using base::check;
using tensor::Tensor;

constexpr std::int64_t kAlignment = 16;  // numbers: 64 bytes of f32

// FNV-1a (Fowler, Noll, Vo, 1991): the same on every machine, unlike std::hash.
std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  return hash;
}

void initialize(Parameter& parameter, std::uint64_t seed) {
  using Kind = Initialization::Kind;
  const Initialization& how = parameter.initialization;
  base::Random random(base::combine(seed, hash_of(parameter.name)));
  const double bound = how.scale * std::sqrt(6.0 / static_cast<double>(parameter.rows + parameter.columns));
  tensor::visit(parameter.value.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (T& number : parameter.value.data<T>()) {
      const double value = how.kind == Kind::constant ? how.scale
                           : how.kind == Kind::normal ? how.scale * random.normal()
                                                      : bound * (2 * random.uniform() - 1);
      number = static_cast<T>(static_cast<float>(value));  // an f64 model starts from the f32 model's values
    }
  });
}

// The numbers of `parameter` in a flat block.
template <class T>
auto part_of(T& flat, const Parameter& parameter) {
  return flat.reshape(flat.size(), 1)
      .slice(parameter.offset, parameter.offset + parameter.rows * parameter.columns)
      .reshape(parameter.rows, parameter.columns);
}

template <class List>
typename List::value_type found_in(const List& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& p) { return p->name == name; });
  return found == list.end() ? nullptr : *found;
}

}  // namespace

ParameterPtr Parameters::add(std::string name, std::int64_t rows, std::int64_t columns, Initialization initialization) {
  check(rows > 0 && columns > 0, "parameter {}: {} rows and {} columns, expected at least 1", name, rows, columns);
  check(find(name) == nullptr, "parameter {} is declared twice", name);
  auto parameter = std::make_shared<Parameter>();
  parameter->name = std::move(name);
  parameter->rows = rows;
  parameter->columns = columns;
  parameter->initialization = initialization;
  list_.push_back(parameter);
  readers_.push_back(parameter);
  return parameter;
}

void Parameters::lay_out(tensor::DType dtype, std::optional<std::uint64_t> seed) {
  std::int64_t total = 0;
  for (const ParameterPtr& parameter : list_) {
    parameter->offset = total;
    if (!parameter->in_block) continue;
    total += (parameter->rows * parameter->columns + kAlignment - 1) / kAlignment * kAlignment;
  }
  adopt(Tensor::zeros(1, total, dtype));
  if (!seed) return;
  for (const ParameterPtr& parameter : list_) {
    if (parameter->in_block) initialize(*parameter, *seed);
  }
}

void Parameters::adopt(Tensor flat) {
  check(flat_.empty() || flat.size() == flat_.size(), "parameters: a block of {} numbers, expected {}", flat.size(),
        flat_.size());
  flat_ = std::move(flat);
  for (const ParameterPtr& parameter : list_) {
    if (!parameter->in_block) continue;
    parameter->value = part_of(flat_, *parameter);
  }
}

ParameterPtr Parameters::find(const std::string& name) { return found_in(list_, name); }

ConstParameterPtr Parameters::find(const std::string& name) const { return found_in(readers_, name); }

std::int64_t Parameters::count() const {
  std::int64_t count = 0;
  for (const ParameterPtr& parameter : list_) count += parameter->rows * parameter->columns;
  return count;
}

Gradients::Gradients(const Parameters& parameters)
    : flat_(Tensor::zeros(1, parameters.flat().size(), parameters.flat().dtype())) {}

Tensor Gradients::of(const Parameter& parameter) { return part_of(flat_, parameter); }

const Tensor Gradients::of(const Parameter& parameter) const { return part_of(flat_, parameter); }

}  // namespace zhuyi::autograd
