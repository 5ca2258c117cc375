#pragma once
// The options of a run as used, kept in its directory as TOML, so that the run can be continued by naming the directory
// alone.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace zhuyi::cli {

// Gives every option of `command` that was not given the value that `toml`, the text of `file`, holds for it. Throws
// bad_file for a text that is not TOML, or has unknown keys.
void restore_options(CLI::App& command, const std::string& toml, const std::filesystem::path& file);

// Writes the options of `command`, given or default, as TOML. Throws system.
void save_options(const CLI::App& command, const std::filesystem::path& file);

}  // namespace zhuyi::cli
