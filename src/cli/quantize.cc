// zhuyi quantize: a trained model made smaller and faster for translating.

#include <fmt/format.h>

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
  formats::Model quantised =
      infer::quantize(formats::load_model(options.model), kernels::precision_of(options.precision));
  quantised.provenance["quantised-from"] = std::filesystem::path(options.model).filename().string();
  formats::save_model(options.output, quantised);
  std::cout << options.output << "\n";
}

}  // namespace

Action quantize_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "the trained model")->required()->option_text("MODEL");
  app.add_option("-o,--output", options->output, "the quantised model")->required()->option_text("FILE");
  app.add_option("--precision", options->precision, "form of the weights: int8, bf16 or f32")
      ->check(CLI::IsMember({"int8", "bf16", "f32"}))
      ->option_text(fmt::format("NAME [{}]", options->precision));
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
