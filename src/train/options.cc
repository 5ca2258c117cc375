#include "train/options.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "train/checkpoint.h"

namespace zhuyi::train {
namespace {

using base::check;
using kernels::Precision;
using nlohmann::json;

constexpr const char* kPrecision = "precision";
constexpr const char* kMemory = "memory";

template <class V>
void check_range(const Field& field, V value) {
  const auto [least, most, open] = field.range;
  const auto number = static_cast<double>(value);
  const bool holds = std::isfinite(number) && number >= least && (open ? number < most : number <= most);
  if (std::isinf(most)) {
    check(holds, "{} is {}, expected {:g} or more", field.name, value, least);
  } else if (open) {
    check(holds, "{} is {}, expected at least {:g} and less than {:g}", field.name, value, least, most);
  } else {
    check(holds, "{} is {}, expected {:g} to {:g}", field.name, value, least, most);
  }
}

template <class V>
json to_json(const V& value) {
  if constexpr (Word<V>) {
    return word_of(value);
  } else if constexpr (std::is_same_v<V, Bytes>) {
    return value.count;
  } else {
    return value;
  }
}

}  // namespace

std::string word_of(data::BatchUnit unit) { return data::name_of(unit); }
std::string word_of(optim::ScheduleKind kind) { return optim::name_of(kind); }
std::string word_of(optim::OptimizerKind kind) { return optim::name_of(kind); }
std::string word_of(Metric metric) { return name_of(metric); }
std::string word_of(const std::optional<Precision>& precision) {
  return !precision ? "auto" : *precision == Precision::bf16 ? "bf16" : "f32";
}

template <>
data::BatchUnit option_of(const std::string& word) {
  return data::batch_unit_of(word);
}
template <>
optim::ScheduleKind option_of(const std::string& word) {
  return optim::schedule_of(word);
}
template <>
optim::OptimizerKind option_of(const std::string& word) {
  return optim::optimizer_of(word);
}
template <>
Metric option_of(const std::string& word) {
  return metric_of(word);
}
template <>
std::optional<Precision> option_of(const std::string& word) {
  for (const std::optional<Precision> known : {std::optional<Precision>(), {Precision::f32}, {Precision::bf16}}) {
    if (word == word_of(known)) return known;
  }
  base::fail(base::ErrorKind::invalid_argument, "'{}' is not a precision; there are: auto, f32, bf16", word);
}

void validate(const TrainOptions& o) {
  for_each_field(o, [](const Field& field, const auto& value) {
    using V = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<V>) check_range(field, value);
  });
  check(o.budget.minutes > 0 || o.budget.steps > 0 || o.budget.epochs > 0,
        "training: no end is set; give minutes, steps or epochs");
  check(o.schedule.warmup_tokens == 0 || o.schedule.kind != optim::ScheduleKind::paper,
        "warmup-tokens is {}, but schedule paper counts its warm-up in steps; give warmup", o.schedule.warmup_tokens);
  check(o.memory.count >= 0, "memory is {}, expected 0 or more", o.memory.count);
  check(o.gradient_bits == 32 || o.gradient_bits == 16, "gradient-bits is {}, expected 32 or 16", o.gradient_bits);
  check(!o.precision || kernels::has_precision(*o.precision),
        "precision is {}: this CPU has no arithmetic for it; give f32 or auto", word_of(o.precision));
}

std::string fixed_options(const TrainOptions& options) {
  json out;
  for_each_field(options, [&](const Field& field, const auto& value) {
    if (field.change == Change::fixed) out[field.name] = to_json(value);
  });
  if (!options.precision) out.erase(kPrecision);
  return out.dump();
}

std::string option_differences(const std::string& saved, const TrainOptions& options) {
  json before = json::parse(saved, nullptr, false);
  json now = json::parse(fixed_options(options));
  for (const char* name : {kPrecision, kMemory}) {
    if (!before.is_object() || (before.contains(name) && now.contains(name))) continue;
    before.erase(name);
    now.erase(name);
  }
  return differences(before.dump(), now.dump());
}

std::optional<Precision> saved_precision(const std::string& saved) {
  const json options = json::parse(saved, nullptr, false);
  if (!options.is_object() || !options.contains(kPrecision)) return std::nullopt;
  return option_of<std::optional<Precision>>(options.at(kPrecision).get<std::string>());
}

}  // namespace zhuyi::train
