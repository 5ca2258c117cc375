#include "cli/saved_options.h"

#include <toml++/toml.h>

#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/config_file.h"

namespace zhuyi::cli {
namespace {

// The option's long name without dashes, or "" for one that is not kept (help, a look at one call, what this machine
// can do, positional arguments).
std::string key_of(const CLI::Option& option) {
  if (option.get_lnames().empty()) return "";
  const std::string name = option.get_lnames().front();
  return name == "help" || name == "config" || name == "profile" || name == "kernels" ? "" : name;
}

}  // namespace

void restore_options(CLI::App& command, const std::string& toml, const std::filesystem::path& file) {
  std::istringstream text(toml);
  base::within(file.string(), [&] {
    const TomlConfig reader(*command.get_parent(), command.get_name());
    for (const CLI::ConfigItem& item : reader.from_config(text)) {
      CLI::Option* option = command.get_option("--" + item.name);
      if (option->count() > 0) continue;
      for (const std::string& value : item.inputs) option->add_result(value);
      option->run_callback();
    }
  });
}

void save_options(const CLI::App& command, const std::filesystem::path& file) {
  toml::table table;
  for (const CLI::Option* option : command.get_options()) {
    const std::string key = key_of(*option);
    if (key.empty()) continue;
    const std::vector<std::string>& given = option->results();
    if (given.size() > 1) {
      toml::array list;
      for (const std::string& value : given) list.push_back(value);
      table.insert(key, list);
    } else if (given.size() == 1) {
      table.insert(key, given.front());
    } else if (!option->get_default_str().empty() && option->get_expected_min() > 0) {
      table.insert(key, option->get_default_str());
    }
  }
  std::ostringstream text;
  text << "# The options of this run as used; `zhuyi train -o DIRECTORY` continues it.\n" << table << "\n";
  base::write_file(file, text.str());
}

}  // namespace zhuyi::cli
