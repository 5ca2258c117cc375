// Speed of training steps on sentences of given lengths: target tokens a second, and the share of the register peak.

#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "kernels/peak.h"
#include "kernels/precision.h"
#include "kernels/targets.h"
#include "nn/transformer.h"
#include "optim/adam.h"
#include "train/profile_table.h"

namespace {

using namespace zhuyi;

struct Options {
  std::string preset = "small";
  std::int64_t vocabulary = 0;
  std::string lengths = "bench/lengths.txt";
  std::int64_t batch_tokens = 4096;
  std::int64_t steps = 4;
  int threads = base::threads();
  std::string kernels;
  std::string precision = "f32";
  bool json = false;
  bool profile = false;
};

// Consecutive sentences of the file, until a batch has its target tokens; random ids.
std::vector<nn::Batch> read_batches(const Options& options, std::int64_t vocabulary) {
  std::ifstream file(options.lengths);
  base::check(file.good(), "cannot read {}", options.lengths);
  base::Random random(1);
  std::vector<nn::Batch> batches(1);
  std::int64_t source = 0;
  std::int64_t target = 0;
  const auto draw = [&](std::int64_t length) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < length; ++i)
      ids.push_back(static_cast<std::int32_t>(3 + random.below(vocabulary - 3)));
    return ids;
  };
  while (file >> source >> target) {
    nn::Batch& batch = batches.back();
    batch.source.append(draw(source));
    batch.target.append(draw(target));
    if (batch.target.sentences.tokens() >= options.batch_tokens) batches.emplace_back();
  }
  if (batches.size() > 1) batches.pop_back();
  return batches;
}

// Multiply-adds times two of one training step: forward, and twice as much backward. Attention is counted exactly.
double flops_of(const nn::Config& c, const nn::Batch& batch) {
  const auto n = static_cast<double>(batch.source.sentences.tokens());
  const auto m = static_cast<double>(batch.target.sentences.tokens());
  const auto d = static_cast<double>(c.d_model);
  const double attention = 4 * d * d;
  const double ff = 2 * d * static_cast<double>(c.d_ff);
  double work = static_cast<double>(c.encoder_layers) * n * (attention + ff) +
                static_cast<double>(c.decoder_layers) * (m * (attention + ff + 2 * d * d) + n * 2 * d * d) +
                m * d * static_cast<double>(c.target_vocabulary);
  for (std::int64_t i = 0; i < batch.source.sentences.count(); ++i) {
    const auto s = static_cast<double>(batch.source.sentences.length(i));
    const auto t = static_cast<double>(batch.target.sentences.length(i));
    work +=
        2 * d *
        (static_cast<double>(c.encoder_layers) * s * s + static_cast<double>(c.decoder_layers) * (t * s + t * t / 2));
  }
  return 3 * 2 * work;
}

// Without a profile nobody looks at the time.
void take_step(nn::Transformer& model, const nn::Batch& batch, std::int64_t step, optim::Adam& adam,
               autograd::Gradients& gradients, autograd::Profile* profile) {
  const auto optimizing = [&](const auto& body) {
    const autograd::Timing timing(profile, autograd::Operation::optimizer, autograd::Pass::forward);
    body();
  };
  if (profile != nullptr) profile->begin_step();
  optimizing([&] { gradients.clear(); });
  {
    autograd::Tape tape(gradients, profile);
    autograd::Run run(tape, base::combine(1, static_cast<std::uint64_t>(step)));
    tape.backward(model.loss(batch, run).total);
  }
  const double scale = 1.0 / static_cast<double>(batch.target.sentences.tokens());
  optimizing([&] {
    adam.step(model.parameters(), gradients, 1e-4,
              scale * optim::clip_factor(optim::gradient_norm(gradients, scale), 1));
  });
  if (profile != nullptr) profile->end_step();
}

void run(const Options& options) {
  if (!options.kernels.empty()) kernels::use_path(options.kernels);
  base::set_threads(options.threads);
  nn::Config config = nn::preset(options.preset);
  const std::int64_t vocabulary = options.vocabulary > 0 ? options.vocabulary : options.preset == "base" ? 32000 : 8000;
  config.source_vocabulary = config.target_vocabulary = vocabulary;
  nn::Transformer model(config, 1, 1);
  model.train_in(kernels::precision_of(options.precision));
  const std::vector<nn::Batch> batches = read_batches(options, vocabulary);
  optim::Adam adam(model.parameters(), {});
  autograd::Gradients gradients(model.parameters());
  std::optional<autograd::Profile> profile;
  double seconds = 0;
  double tokens = 0;
  double flops = 0;
  for (std::int64_t step = 0; step <= options.steps; ++step) {  // the first one warms up
    const nn::Batch& batch = batches[static_cast<std::size_t>(step) % batches.size()];
    const auto start = std::chrono::steady_clock::now();
    if (step == 1 && options.profile) profile.emplace();
    take_step(model, batch, step, adam, gradients, profile ? &*profile : nullptr);
    if (step == 0) continue;
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    tokens += static_cast<double>(batch.target.sentences.tokens());
    flops += flops_of(config, batch);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  if (profile) {
    std::printf("%s",
                train::profile_table(*profile, train::measure_peaks(kernels::precision_of(options.precision))).c_str());
  }
  const double peak = kernels::peak_gflops(options.threads);
  const double gflops = flops / seconds / 1e9;
  const double megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
  if (options.json) {
    std::printf(
        "{\"precision\": \"%s\", \"kernels\": \"%s\", \"target_tokens_per_second\": %.1f, \"gflops\": %.1f, "
        "\"peak_gflops\": %.1f, "
        "\"peak_rss_mb\": %.0f}\n",
        options.precision.c_str(), kernels::current_path().c_str(), tokens / seconds, gflops, peak, megabytes);
  } else {
    std::printf(
        "zhuyi %s %s %.1f target_tokens/s  steps %lld  %.1f GFLOP/s, %.0f %% of %.0f in registers  peak_rss %.0f MB\n",
        options.precision.c_str(), options.preset.c_str(), tokens / seconds, static_cast<long long>(options.steps),
        gflops, 100 * gflops / peak, peak, megabytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  Options options;
  CLI::App app("Speed of training steps");
  app.option_defaults()->always_capture_default();
  app.add_option("--preset", options.preset, "model size");
  app.add_option("--vocabulary", options.vocabulary, "pieces (0: 32,000 for base, 8,000 otherwise)");
  app.add_option("--lengths", options.lengths, "file of lines: source length, target length");
  app.add_option("--batch-tokens", options.batch_tokens, "target tokens a step");
  app.add_option("--steps", options.steps, "timed steps");
  app.add_option("--threads", options.threads, "threads");
  app.add_option("--precision", options.precision, "f32 or bf16")->check(CLI::IsMember({"f32", "bf16"}));
  app.add_flag("--json", options.json, "one JSON object");
  app.add_flag("--profile", options.profile, "also where the time went");
  app.add_option("--kernels", options.kernels,
                 "instructions to compute with, as zhuyi --kernels; without, the best here")
      ->envname("ZHUYI_KERNELS");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_train: %s\n", error.what());
    return 1;
  }
  return 0;
}
