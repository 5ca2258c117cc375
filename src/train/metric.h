#pragma once
// Which of a validation's figures says that a model is better.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "train/validator.h"

namespace zhuyi::train {

enum class Metric { nll, bleu, chrf };

// Whether `a` is better than `b`: a lower nll, a higher BLEU or chrF.
bool better(Metric metric, const Validation& a, const Validation& b);

// What metrics.jsonl tells of a validation.
nlohmann::json figures_of(const Validation& validation);

// "nll", "bleu" or "chrf" and back; throws invalid_argument.
std::string name_of(Metric metric);
Metric metric_of(const std::string& name);

}  // namespace zhuyi::train
