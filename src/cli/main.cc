// zhuyi: the program. Finds the sub-command, reads its options, runs it, and turns errors into messages and exit codes.

#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/exit_code.h"
#include "cli/old_names.h"
#include "kernels/targets.h"

namespace {

using zhuyi::base::Error;
using zhuyi::base::ErrorKind;
namespace cli = zhuyi::cli;
using cli::kBadFile;
using cli::kSystem;
using cli::kUsage;

struct CommandEntry {
  const char* name;
  const char* summary;
  cli::Action (*declare)(CLI::App&);
};

const std::vector<CommandEntry>& commands() {
  static const std::vector<CommandEntry> list = {
      {"attention", "the idea in one line: a lookup that weighs", cli::attention_command},
      {"average", "the mean of several models' weights as one model", cli::average_command},
      {"corpus", "read parallel text, clean it, write one pair a line", cli::corpus_command},
      {"evaluate", "BLEU and chrF of translations against references", cli::evaluate_command},
      {"inspect", "configuration, parameters by part, vocabulary, where it came from", cli::inspect_command},
      {"quantize", "make a trained model smaller and faster for translating", cli::quantize_command},
      {"report", "one page with the curves of training runs", cli::report_command},
      {"score", "log-probability of each given translation", cli::score_command},
      {"shortlist", "which target pieces may translate a source piece, for faster translation", cli::shortlist_command},
      {"tokenizer", "train a SentencePiece tokenizer, encode and decode with it", cli::tokenizer_command},
      {"train", "train a model on a corpus, or continue a run", cli::train_command},
      {"translate", "one sentence a line, to standard output", cli::translate_command},
  };
  return list;
}

// Flags that switch something off are shown by their names alone, without CLI11's "{false}".
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string mark = "{false}";
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    for (std::size_t at = name.find(mark); at != std::string::npos; at = name.find(mark)) name.erase(at, mark.size());
    return name;
  }
};

int complain(const std::string& message, int code) {
  std::cout.flush();
  std::cerr << "zhuyi: " << message << "\n";
  return code;
}

// The message for a command line that CLI11 refused.
std::string usage_message(const CLI::App& app, const std::string& command, const CLI::ParseError& error) {
  const CLI::App* used = command.empty() ? &app : app.get_subcommand(command);
  const std::string help = command.empty() ? "zhuyi --help" : "zhuyi " + command + " --help";
  std::string message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> extras = app.remaining(true);
    const auto option =
        std::find_if(extras.begin(), extras.end(), [](const std::string& word) { return word.starts_with('-'); });
    if (option != extras.end()) {
      const std::string name = option->substr(0, option->find('='));
      message = "unknown option " + name + cli::suggestion(name, cli::option_names(*used));
    } else if (!extras.empty()) {
      message = "'" + extras.front() + "' is one argument too many";
    }
  }
  return message + " (see " + help + ")";
}

// The sub-command that the command line names, or "" when its first word is an option or missing.
std::string named_command(const std::vector<std::string>& words) {
  if (words.empty() || words.front().starts_with('-')) return "";
  std::vector<std::string> names;
  for (const CommandEntry& entry : commands()) names.emplace_back(entry.name);
  if (std::find(names.begin(), names.end(), words.front()) != names.end()) return words.front();
  throw Error(ErrorKind::invalid_argument, "unknown command '" + words.front() + "'" +
                                               cli::suggestion(words.front(), names) + " (see zhuyi --help)");
}

// Holds for the process; "" is the best that this machine has.
void choose_kernels(const std::string& path) {
  if (!path.empty()) zhuyi::kernels::use_path(path);
  const std::string report = zhuyi::kernels::path_report();
  if (!report.empty()) std::cerr << "zhuyi: " << report << "\n";
}

int run(const std::vector<std::string>& given) {
  const auto [words, remarks] = cli::present_words(given);
  for (const std::string& remark : remarks) complain(remark, 0);
  const std::string command = named_command(words);
  CLI::App app("Zhuyi: train a Transformer on your own bilingual text, and translate with it", "zhuyi");
  app.formatter(std::make_shared<HelpFormat>());
  app.set_help_flag("-h,--help", "this page");
  app.set_version_flag("--version", "zhuyi " ZHUYI_VERSION, "the program's version");
  app.option_defaults()->always_capture_default();
  app.require_subcommand(1);
  cli::Action action;
  std::string path;
  for (const CommandEntry& entry : commands()) {
    CLI::App* sub = app.add_subcommand(entry.name, entry.summary);
    sub->fallthrough();
    sub->footer("Every option may also stand in a TOML file, by its name: --config FILE");
    const cli::Action declared = entry.declare(*sub);
    sub->add_option("--kernels", path,
                    "instructions to compute with: amx, avx512, avxvnni, avx2 or sse2; without, the best here")
        ->envname("ZHUYI_KERNELS");
    if (entry.name == command) action = declared;
  }
  app.set_config("--config", "", "TOML file with options (keys are option names)");
  app.config_formatter(std::make_shared<cli::TomlConfig>(app, command));
  app.allow_config_extras(false);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::FileError& error) {
    return complain(error.what(), kBadFile);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return complain(usage_message(app, command, error), kUsage);
  }
  choose_kernels(path);
  action();
  std::cout.flush();
  if (!std::cout) throw Error(ErrorKind::system, "cannot write to standard output");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // What comes and goes all the time keeps its pages, and what is larger, and rare, gives them back.
  mallopt(M_MMAP_THRESHOLD, 2 << 20);
  mallopt(M_TRIM_THRESHOLD, -1);
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const Error& error) {
    return complain(error.message(), cli::exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kSystem);
  } catch (const std::exception& error) {
    return complain(error.what(), kSystem);
  }
}
