// zhuyi report: one page with the curves of one or several training runs.

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/run_report.h"

namespace zhuyi::cli {
namespace {

struct Options {
  std::vector<std::string> runs;
  std::string output = "report.html";
  ReportAxis axis = ReportAxis::tokens;
};

// Names that tell the runs apart: with their directory where the last part alone would not.
std::vector<RunRecord> read_runs(const std::vector<std::string>& directories) {
  std::vector<RunRecord> runs;
  std::map<std::string, int> uses;
  for (const std::string& directory : directories) {
    runs.push_back(read_run(directory));
    ++uses[runs.back().name];
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (uses[runs[i].name] > 1) runs[i].name = directories[i];
  }
  return runs;
}

void run(const Options& options) {
  base::write_file(options.output, report_page(read_runs(options.runs), options.axis));
  std::cout << options.output << "\n";
}

}  // namespace

Action report_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("runs", options->runs, "directories of training runs")->required()->option_text("RUN...");
  app.add_option("-o,--output", options->output, "the HTML page")
      ->option_text(fmt::format("FILE [{}]", options->output));
  const std::map<std::string, ReportAxis> axes = {
      {"tokens", ReportAxis::tokens}, {"steps", ReportAxis::steps}, {"minutes", ReportAxis::minutes}};
  app.add_option("--axis", options->axis, "what the curves run along: tokens, steps or minutes")
      ->transform(CLI::CheckedTransformer(axes).description(""))
      ->option_text("NAME [tokens]");
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
