#include "nn/declarations.h"

#include <cmath>

namespace zhuyi::nn {

WeightPtr Declarations::table(const std::string& name, std::int64_t pieces, std::int64_t width) {
  return add(
      parameters.add(name, pieces, width, {Initialization::Kind::normal, std::pow(static_cast<double>(width), -0.5)}),
      true);
}

}  // namespace zhuyi::nn
