#include "cli/run_report.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"

namespace zhuyi::cli {
namespace {

using base::check_kind;
using base::ErrorKind;
using nlohmann::json;

// A run directory's name, also for "runs/a/" and ".".
std::string name_of(const std::filesystem::path& directory) {
  const std::filesystem::path whole = std::filesystem::absolute(directory).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

MetricsLine line_of(const json& object) {
  MetricsLine line;
  for (const auto& [key, value] : object.items()) {
    if (value.is_number()) line.numbers[key] = value.get<double>();
  }
  line.steps = line.numbers.contains("step") ? line.numbers.at("step") : 0;
  line.tokens = line.numbers.contains("target_tokens") ? line.numbers.at("target_tokens") : 0;
  line.seconds = line.numbers.contains("seconds") ? line.numbers.at("seconds") : 0;
  return line;
}

std::string text_at(const json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

void add_samples(const json& samples, double steps, RunRecord& run) {
  for (const json& sample : samples) {
    const std::string source = text_at(sample, "source");
    const auto same = [&](const Sample& known) { return known.source == source; };
    auto found = std::find_if(run.samples.begin(), run.samples.end(), same);
    if (found == run.samples.end()) {
      run.samples.push_back({source, text_at(sample, "reference"), {}});
      found = run.samples.end() - 1;
    }
    found->translations.push_back({steps, text_at(sample, "translation")});
  }
}

void read_metrics(const std::filesystem::path& path, RunRecord& run) {
  std::int64_t number = 0;
  base::for_each_line(base::read_file(path), [&](std::string_view text) {
    ++number;
    const json object = json::parse(text, nullptr, false);
    check_kind(object.is_object(), ErrorKind::bad_file, "{}, line {}: not a JSON object", path.string(), number);
    const MetricsLine line = line_of(object);
    // The mean of snapshots and steps that were left out are not on the curves.
    if (object.contains("averaged_snapshots")) return;
    if (line.numbers.contains("valid_nll")) {
      run.validations.push_back(line);
      if (object.contains("samples")) add_samples(object["samples"], line.steps, run);
    } else if (line.numbers.contains("loss")) {
      run.training.push_back(line);
    }
  });
  check_kind(!run.training.empty() || !run.validations.empty(), ErrorKind::bad_file,
             "{} holds neither a step nor a validation", path.string());
}

std::string text_of(const toml::node& value) {
  if (const auto word = value.value<std::string>()) return *word;
  std::ostringstream text;
  text << toml::node_view(value);
  return text.str();
}

void read_options(const std::filesystem::path& path, RunRecord& run) {
  if (!std::filesystem::exists(path)) return;
  std::istringstream text(base::read_file(path));
  try {
    const toml::table table = toml::parse(text);
    for (const auto& [key, value] : table) {
      std::vector<std::string> words;
      if (const toml::array* list = value.as_array()) {
        for (const toml::node& word : *list) words.push_back(text_of(word));
      } else {
        words.push_back(text_of(value));
      }
      run.options[std::string(key.str())] = fmt::format("{}", fmt::join(words, ", "));
    }
  } catch (const toml::parse_error& error) {
    base::fail(ErrorKind::bad_file, "{}: {}", path.string(), error.description());
  }
}

}  // namespace

RunRecord read_run(const std::filesystem::path& directory) {
  RunRecord run;
  run.name = name_of(directory);
  read_metrics(directory / "metrics.jsonl", run);
  read_options(directory / "config.toml", run);
  return run;
}

}  // namespace zhuyi::cli
