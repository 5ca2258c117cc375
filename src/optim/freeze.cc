#include "optim/freeze.h"

#include <algorithm>

#include "base/error.h"

namespace zhuyi::optim {

bool matches(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  pattern.remove_prefix(star + 1);
  for (std::size_t skipped = 0; skipped <= name.size(); ++skipped) {
    if (matches(pattern, name.substr(skipped))) return true;
  }
  return false;
}

std::vector<autograd::ConstParameterPtr> frozen_parameters(const autograd::Parameters& parameters,
                                                           std::span<const std::string> patterns) {
  std::vector<autograd::ConstParameterPtr> frozen;
  for (const std::string& pattern : patterns) {
    const bool fits = std::any_of(parameters.list().begin(), parameters.list().end(),
                                  [&](const autograd::ConstParameterPtr& p) { return matches(pattern, p->name); });
    std::vector<std::string> parts;  // "encoder.*", "embedding"
    for (const autograd::ConstParameterPtr& parameter : parameters.list()) {
      const std::size_t point = parameter->name.find('.');
      std::string part = parameter->name.substr(0, point) + (point == std::string::npos ? "" : ".*");
      if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(std::move(part));
    }
    base::check(fits, "freeze: no parameter is called '{}'; there are {}, and their parts as `zhuyi inspect` shows",
                pattern, fmt::join(parts, ", "));
  }
  for (const autograd::ConstParameterPtr& parameter : parameters.list()) {
    const bool fits = std::any_of(patterns.begin(), patterns.end(),
                                  [&](const std::string& pattern) { return matches(pattern, parameter->name); });
    if (fits) frozen.push_back(parameter);
  }
  base::check(frozen.size() < parameters.list().size(), "freeze: nothing would be left to train");
  return frozen;
}

}  // namespace zhuyi::optim
