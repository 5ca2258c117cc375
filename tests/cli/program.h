#pragma once
// The built program seen from outside.

#include <string>
#include <vector>

#include "running_program.h"

namespace zhuyi::testing {

// Runs zhuyi to its end: run_zhuyi({"attention", "--json"}).
inline Outcome run_zhuyi(const std::vector<std::string>& arguments, const std::string& input = "") {
  return run_program(ZHUYI_PROGRAM, arguments, input);
}

}  // namespace zhuyi::testing
