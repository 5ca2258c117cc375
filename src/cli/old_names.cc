#include "cli/old_names.h"

#include <string_view>
#include <utility>

namespace zhuyi::cli {
namespace {

struct OldCommand {
  std::string_view before;
  std::string_view now;
};

struct OldOption {
  std::string_view command;
  std::string_view before;
  std::string_view now;
};

constexpr OldCommand kCommands[] = {{"freeze", "quantize"}};
constexpr OldOption kOptions[] = {
    {"corpus", "max-length", "max-characters"},
    {"corpus", "split", "hold-out"},
    {"corpus", "split-documents", "hold-out-documents"},
    {"tokenizer", "size", "vocabulary"},
    {"tokenizer", "size-is-limit", "vocabulary-is-limit"},
    {"tokenizer", "training-threads", "threads"},
    {"tokenizer", "type", "tokenizer-type"},
};

std::string remark(const std::string& before, const std::string& now) {
  return before + " is called " + now + " now; the old name works until the next version";
}

}  // namespace

std::string present_command(const std::string& name) {
  for (const OldCommand& command : kCommands) {
    if (name == command.before) return std::string(command.now);
  }
  return name;
}

std::string present_option(const std::string& command, const std::string& name) {
  for (const OldOption& option : kOptions) {
    if (command == option.command && name == option.before) return std::string(option.now);
  }
  return name;
}

PresentWords present_words(std::vector<std::string> words) {
  PresentWords result{std::move(words), {}};
  if (result.words.empty()) return result;
  std::string& command = result.words.front();
  if (const std::string now = present_command(command); now != command) {
    result.remarks.push_back(remark("'" + command + "'", "'" + now + "'"));
    command = now;
  }
  for (std::string& word : result.words) {
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(2, word.find('=') - 2);
    const std::string now = present_option(command, name);
    if (now == name) continue;
    result.remarks.push_back(remark("--" + name, "--" + now));
    word.replace(2, name.size(), now);
  }
  return result;
}

}  // namespace zhuyi::cli
