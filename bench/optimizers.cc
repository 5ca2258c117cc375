// How long a step of each optimiser takes on the parameters of a preset, without forward and backward pass.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/float_mode.h"
#include "base/parallel.h"
#include "base/random.h"
#include "nn/transformer.h"
#include "optim/optimizers.h"

namespace {

using namespace zhuyi;

// Milliseconds of a step: the median of `timed` after `before`.
double step_time(optim::Optimizer& optimizer, nn::Transformer& model, const autograd::Gradients& gradients, int before,
                 int timed) {
  std::vector<double> times;
  for (int step = 0; step < before + timed; ++step) {
    const auto start = std::chrono::steady_clock::now();
    optimizer.step(model.parameters(), gradients, 1e-4, 1);
    times.push_back(1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin() + before, times.end());
  return times[static_cast<std::size_t>(before + timed / 2)];
}

// The share of the first moments that are denormal.
double denormal_share(const optim::Optimizer& optimizer) {
  const optim::ConstStateBlock block = optimizer.state().front();
  const std::span<const float> numbers = block.values->data<float>();
  const auto denormal = [](float number) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(number) & 0x7fffffffU;
    return bits > 0 && bits < 0x00800000U;
  };
  return static_cast<double>(std::count_if(numbers.begin(), numbers.end(), denormal)) /
         static_cast<double>(numbers.size());
}

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
    std::printf("%s %s %.1f ms a step\n", preset.c_str(), optim::name_of(kind).c_str(),
                step_time(*optimizer, model, gradients, 1, steps));  // the first one warms up
  }
  // After a step with all pieces, nine tenths of them are not seen any more and their moments fade: 0.9^1000 = 2e-46.
  autograd::Gradients few(model.parameters());
  few.flat().assign(gradients.flat());
  few.of(*model.parameters().find("embedding")).slice(vocabulary / 10, vocabulary).fill(0);
  for (const bool flushed : {false, true}) {
    std::optional<base::FlushDenormals> flush;
    if (flushed) flush.emplace();
    const auto optimizer = optim::make_optimizer(model.parameters(), {});
    optimizer->step(model.parameters(), gradients, 1e-4, 1);
    const double time = step_time(*optimizer, model, few, 1000, steps);
    std::printf("%s adam %.2f ms a step after 1000 without most pieces%s, %.0f %% of first moments denormal\n",
                preset.c_str(), time, flushed ? " and denormal numbers" : "", 100 * denormal_share(*optimizer));
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
