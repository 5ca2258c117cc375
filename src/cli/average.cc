// zhuyi average: one model from the mean of several models' weights.

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "train/average_models.h"

namespace zhuyi::cli {
namespace {

struct Options {
  std::vector<std::string> models;
  std::string output;
};

void run(const Options& options) {
  base::check(options.models.size() >= 2, "average: {} model given, expected at least 2", options.models.size());
  const std::vector<std::filesystem::path> files(options.models.begin(), options.models.end());
  formats::save_model(options.output, train::average_models(files));
  std::cout << options.output << "\n";
}

}  // namespace

Action average_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("models", options->models, "models, snapshots or checkpoints of one run")
      ->required()
      ->option_text("MODEL...");
  app.add_option("-o,--output", options->output, "the mean")->required()->option_text("FILE");
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
