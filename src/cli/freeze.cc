// zhuyi freeze: a trained model made smaller and faster for translating.

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "cli/command.h"
#include "infer/quantize.h"
#include "kernels/precision.h"

namespace zhuyi::cli {
namespace {

struct Options {
  std::string model;
  std::string output;
  std::string precision = "int8";
};

void run(const Options& options) {
  formats::Model frozen = infer::quantize(formats::load_model(options.model), kernels::precision_of(options.precision));
  frozen.provenance["frozen-from"] = std::filesystem::path(options.model).filename().string();
  formats::save_model(options.output, frozen);
  std::cout << options.output << "\n";
}

}  // namespace

Action freeze_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the trained model")->required();
  app.add_option("-o,--output", options->output, "where the frozen model goes")->required();
  app.add_option("--precision", options->precision, "of the weights: int8, bf16 or f32")
      ->check(CLI::IsMember({"int8", "bf16", "f32"}))
      ->capture_default_str();
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
