#include "train/metric.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace zhuyi::train {
namespace {

constexpr const char* kNames[] = {"nll", "bleu", "chrf"};

}  // namespace

bool better(Metric metric, const Validation& a, const Validation& b) {
  switch (metric) {
    case Metric::nll:
      return a.nll < b.nll;
    case Metric::bleu:
      return a.bleu > b.bleu;
    case Metric::chrf:
      return a.chrf > b.chrf;
  }
  base::fail(base::ErrorKind::internal, "validation: a metric without an order");
}

nlohmann::json figures_of(const Validation& validation) {
  nlohmann::json samples = nlohmann::json::array();
  for (const Sample& sample : validation.samples) {
    samples.push_back(
        {{"source", sample.source}, {"reference", sample.reference}, {"translation", sample.translation}});
  }
  return {{"valid_nll", validation.nll},
          {"bleu", validation.bleu},
          {"chrf", validation.chrf},
          {"translated", validation.translated},
          {"samples", samples}};
}

std::string name_of(Metric metric) { return kNames[static_cast<std::size_t>(metric)]; }

Metric metric_of(const std::string& name) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  base::check(found != std::end(kNames), "'{}' is not a metric; there are: {}", name,
              fmt::join(std::begin(kNames), std::end(kNames), ", "));
  return static_cast<Metric>(found - std::begin(kNames));
}

}  // namespace zhuyi::train
