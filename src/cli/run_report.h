#pragma once
// What a training run told in its metrics.jsonl, and a page that compares several runs.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/curve_plot.h"

namespace zhuyi::cli {

// A line of metrics.jsonl: training ("loss") or validation ("valid_nll").
struct MetricsLine {
  double steps = 0;
  double tokens = 0;                      // target tokens seen
  double seconds = 0;                     // of training
  std::map<std::string, double> numbers;  // all of them by name, "loss" to "chrf"
};

// Translations of one sentence by a validation.
struct SampleLine {
  double steps = 0;
  std::string translation;
};
struct Sample {
  std::string source;
  std::string reference;
  std::vector<SampleLine> translations;
};

struct RunRecord {
  std::string name;
  std::vector<MetricsLine> training;
  std::vector<MetricsLine> validations;
  std::vector<Sample> samples;
  std::map<std::string, std::string> options;  // of config.toml; may be empty
};

// Reads DIRECTORY/metrics.jsonl and config.toml. Throws not_found, bad_file, naming the line.
RunRecord read_run(const std::filesystem::path& directory);

enum class ReportAxis { tokens, steps, minutes };

// One HTML page without scripts and without anything from outside: a table of the runs, a chart a figure with a curve a
// run, and how the translations of the first sentences changed. Throws invalid_argument for no runs.
std::string report_page(const std::vector<RunRecord>& runs, ReportAxis axis);

}  // namespace zhuyi::cli
