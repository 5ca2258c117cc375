#pragma once
// Names that commands and options had before, and which work for one version more.

#include <string>
#include <vector>

namespace zhuyi::cli {

// The present name of a command, and of an option of a command (without dashes); a name that never changed is given
// back.
std::string present_command(const std::string& name);
std::string present_option(const std::string& command, const std::string& name);

// A command line with present names in place of old ones, and a sentence about each old name in it.
struct PresentWords {
  std::vector<std::string> words;
  std::vector<std::string> remarks;
};
PresentWords present_words(std::vector<std::string> words);

}  // namespace zhuyi::cli
