#include "cli/config_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "cli/old_names.h"

namespace zhuyi::cli {
namespace {

using base::ErrorKind;
using base::fail;

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

// One TOML value as the text that the command line would hold.
std::string text_of(const std::string& key, const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* flag = value.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* whole = value.as_integer()) return fmt::format("{}", whole->get());
  if (const auto* real = value.as_floating_point()) return fmt::format("{}", real->get());
  fail(ErrorKind::invalid_argument, "key '{}': expected text, a number, true or false, or a list of them", key);
}

CLI::ConfigItem item_of(const CLI::App& command, const std::string& key, const toml::node& value) {
  CLI::ConfigItem item;
  item.parents = {command.get_name()};
  item.name = key;
  std::replace(item.name.begin(), item.name.end(), '_', '-');
  item.name = present_option(command.get_name(), item.name);
  if (command.get_option_no_throw("--" + item.name) == nullptr) {
    fail(ErrorKind::invalid_argument, "unknown key '{}'{}", key, suggestion("--" + item.name, option_names(command)));
  }
  if (const auto* list = value.as_array()) {
    for (const auto& element : *list) item.inputs.push_back(text_of(key, element));
  } else {
    item.inputs.push_back(text_of(key, value));
  }
  return item;
}

}  // namespace

std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  const std::string best = nearest(name, known);
  return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string TomlConfig::to_config(const CLI::App*, bool, bool, std::string) const { return ""; }

std::vector<CLI::ConfigItem> TomlConfig::from_config(std::istream& input) const {
  std::vector<CLI::ConfigItem> items;
  try {
    const toml::table file = toml::parse(input);
    const CLI::App& command = *app_.get_subcommand(command_);
    for (const auto& [key, value] : file) {
      const std::string name = value.is_table() ? present_command(std::string(key.str())) : std::string(key.str());
      if (const auto* table = value.as_table()) {
        if (name == command_) {
          for (const auto& [inner, inner_value] : *table) {
            items.push_back(item_of(command, std::string(inner.str()), inner_value));
          }
          continue;
        }
        std::vector<std::string> commands;
        for (const CLI::App* known : app_.get_subcommands({})) commands.push_back(known->get_name());
        if (std::find(commands.begin(), commands.end(), name) == commands.end()) {
          fail(ErrorKind::invalid_argument, "unknown table [{}]{}", name, suggestion(name, commands));
        }
      } else {
        items.push_back(item_of(command, name, value));
      }
    }
  } catch (const toml::parse_error& error) {
    fail(ErrorKind::bad_file, "not TOML, line {}: {}", error.source().begin.line, error.description());
  }
  return items;
}

}  // namespace zhuyi::cli
