#pragma once
// Options from a TOML file (--config FILE), and the nearest known name for one that does not exist.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace zhuyi::cli {

// The name among `known` nearest to `name` by edit distance (Levenshtein, 1966), or "" when none is near (more than a
// third of the letters differ, at least two).
std::string nearest(const std::string& name, const std::vector<std::string>& known);

// "; did you mean --steps?" or "".
std::string suggestion(const std::string& name, const std::vector<std::string>& known);

// The long names of an app's options, with their leading dashes.
std::vector<std::string> option_names(const CLI::App& app);

// Reads a TOML file for one sub-command: keys at the top and in the table of the sub-command's name are options without
// their dashes (`batch-tokens = 4096`; underscores count as dashes); tables of other sub-commands are left alone. What
// the command line gives wins. Unknown keys and tables are errors that name the nearest known one.
class TomlConfig : public CLI::Config {
 public:
  // `app` is the program, `command` the name of the sub-command that runs.
  TomlConfig(const CLI::App& app, std::string command) : app_(app), command_(std::move(command)) {}

  std::string to_config(const CLI::App* app, bool defaults, bool descriptions, std::string prefix) const override;
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  const CLI::App& app_;
  std::string command_;
};

}  // namespace zhuyi::cli
