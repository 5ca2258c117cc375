// How long a step of each optimiser takes on the parameters of a preset, without forward and backward pass.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "nn/transformer.h"
#include "optim/optimizers.h"

namespace {

using namespace zhuyi;

void run(const std::string& preset, std::int64_t vocabulary, int steps) {
  nn::Config config = nn::preset(preset);
  config.source_vocabulary = config.target_vocabulary = vocabulary;
  nn::Transformer model(config, 1, 1);
  autograd::Gradients gradients(model.parameters());
  base::Random random(1);
  for (float& number : gradients.flat().data<float>()) number = static_cast<float>(random.uniform() - 0.5);
  for (const optim::OptimizerKind kind : {optim::OptimizerKind::adam, optim::OptimizerKind::muon}) {
    optim::OptimizerOptions options;
    options.kind = kind;
    const auto optimizer = optim::make_optimizer(model.parameters(), options);
    std::vector<double> times;
    for (int step = 0; step <= steps; ++step) {
      const auto start = std::chrono::steady_clock::now();
      optimizer->step(model.parameters(), gradients, 1e-4, 1);
      times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(times.begin() + 1, times.end());  // the first one warms up
    std::printf("%s %s %.1f ms a step\n", preset.c_str(), optim::name_of(kind).c_str(), 1e3 * times[times.size() / 2]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string preset = "small";
  std::int64_t vocabulary = 8000;
  int steps = 9;
  int threads = base::threads();
  CLI::App app("Speed of the optimisers");
  app.option_defaults()->always_capture_default();
  app.add_option("--preset", preset, "model size");
  app.add_option("--vocabulary", vocabulary, "pieces");
  app.add_option("--steps", steps, "timed steps")->check(CLI::Range(1, 1000));
  app.add_option("--threads", threads, "threads")->check(CLI::Range(1, 1024));
  CLI11_PARSE(app, argc, argv);
  base::set_threads(threads);
  run(preset, vocabulary, steps);
  return 0;
}
