#pragma once
// The reference values that sacreBLEU computed (scripts/make_metrics_golden.py), for the tests of this room.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "metrics/tokenize.h"

namespace zhuyi::metrics {

inline nlohmann::json golden() { return nlohmann::json::parse(base::read_file(ZHUYI_GOLDEN_DIR "/metrics.json")); }

inline std::vector<std::string> strings(const nlohmann::json& list) { return list.get<std::vector<std::string>>(); }

// A line or signature of sacreBLEU with our version in place of its own.
inline std::string with_our_version(std::string text, const nlohmann::json& file) {
  const std::string theirs = "version:" + file.at("sacrebleu").get<std::string>();
  return text.replace(text.find(theirs), theirs.size(), "version:" + std::string(kSignatureVersion));
}

// The margin for a value of sacreBLEU: 1e-9 of it.
inline double margin(double expected) { return 1e-9 * std::abs(expected); }

}  // namespace zhuyi::metrics
