#pragma once
// Parameters that training leaves as they are, chosen by patterns of names.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/parameter.h"

namespace zhuyi::optim {

// Whether the whole name fits the pattern, in which * stands for any text: "encoder.*", "*.bias".
bool matches(std::string_view pattern, std::string_view name);

// The parameters whose names fit one of the patterns, in the model's order. Throws invalid_argument for a pattern that
// fits none, saying which parts there are, and when nothing is left to train.
std::vector<autograd::ConstParameterPtr> frozen_parameters(const autograd::Parameters& parameters,
                                                           std::span<const std::string> patterns);

}  // namespace zhuyi::optim
