#pragma once
// What `zhuyi COMMAND --help` says of each option, for tests to read.

#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace zhuyi::testing {

struct HelpEntry {
  std::vector<std::string> names;  // long ones with their dashes; of an argument without dashes its name
  std::string value;               // "N [4]"; "" for a flag
  std::string text;

  const std::string& name() const { return names.front(); }
};

// The entries of a help text. A line of it is "  -o,--output FILE   What it is", or in two when the first part is long.
inline std::vector<HelpEntry> help_entries(const std::string& help) {
  std::vector<HelpEntry> entries;
  const std::regex long_name(R"(--[a-z0-9-]+)");
  std::istringstream lines(help);
  constexpr std::size_t kColumn = 30;  // where texts begin
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(':')) inside = true;
    if (!inside || line.size() < 3 || !line.starts_with("  ")) continue;
    if (line.starts_with(std::string(kColumn, ' '))) {
      if (!entries.empty()) entries.back().text += line.substr(kColumn);
      continue;
    }
    const bool two_lines = line.size() < kColumn || line[kColumn - 1] != ' ' || line[kColumn] == ' ';
    std::string head = two_lines ? line.substr(2) : line.substr(2, kColumn - 2);
    head.erase(head.find_last_not_of(' ') + 1);
    HelpEntry next;
    const std::string names = head.substr(0, head.find(' '));
    next.value = head.size() > names.size() ? head.substr(names.size() + 1) : "";
    for (std::sregex_iterator i(names.begin(), names.end(), long_name); i != std::sregex_iterator(); ++i) {
      next.names.push_back(i->str());
    }
    if (next.names.empty()) next.names.push_back(names);
    if (!two_lines) next.text = line.substr(kColumn);
    entries.push_back(std::move(next));
  }
  return entries;
}

}  // namespace zhuyi::testing
