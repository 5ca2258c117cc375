// A table of keys and values, looked up: what a program has before it has attention.

#include <fmt/format.h>

#include <cmath>
#include <map>

int main() {
  const std::map<double, double> weight_of_waist = {{51, 40}, {56, 43}, {58, 48}};  // cm -> kg

  for (const double query : {56, 57}) {
    const auto found = weight_of_waist.find(query);
    if (found != weight_of_waist.end()) {
      fmt::print("waist {}: weight {}\n", query, found->second);
    } else {
      fmt::print("waist {}: not in the table\n", query);
    }
  }

  const double query = 57;
  double all = 0;
  double near = 0;
  double near_count = 0;
  for (const auto& [waist, weight] : weight_of_waist) {
    all += weight / static_cast<double>(weight_of_waist.size());
    if (std::abs(query - waist) <= 1) {
      near += weight;
      near_count += 1;
    }
  }
  fmt::print("waist {}: the mean of all {} is {:.2f}\n", query, weight_of_waist.size(), all);
  fmt::print("waist {}: the mean of the {} nearest is {:.2f}\n", query, near_count, near / near_count);
}
