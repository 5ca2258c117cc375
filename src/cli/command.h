#pragma once
// The sub-commands of the program. Each declares its options on a CLI::App and gives what to run once they are parsed.

#include <CLI/CLI.hpp>
#include <functional>

namespace zhuyi::cli {

// Runs a sub-command with the parsed options. Errors are thrown. To standard output goes the result alone: what was
// asked for as text, or the paths of the files that it was asked to be written to (--output), one a line, once they are
// whole. To standard error go progress, reports, and files made on the side ("wrote FILE"); remarks and errors begin
// with "zhuyi: ".
using Action = std::function<void()>;

// One function a sub-command, in a file of the same name.
Action attention_command(CLI::App& app);
Action average_command(CLI::App& app);
Action corpus_command(CLI::App& app);
Action evaluate_command(CLI::App& app);
Action inspect_command(CLI::App& app);
Action quantize_command(CLI::App& app);
Action report_command(CLI::App& app);
Action score_command(CLI::App& app);
Action shortlist_command(CLI::App& app);
Action tokenizer_command(CLI::App& app);
Action train_command(CLI::App& app);
Action translate_command(CLI::App& app);

}  // namespace zhuyi::cli
