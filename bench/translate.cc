// Speed of translation by beam search with random weights and a fixed output length: output tokens a second, and the
// latency of one sentence alone.

#include <malloc.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "infer/quantize.h"
#include "infer/shortlist.h"
#include "infer/translate_tokens.h"
#include "kernels/precision.h"
#include "kernels/targets.h"
#include "nn/transformer.h"

namespace {

using namespace zhuyi;
using Sentences = std::vector<std::vector<std::int32_t>>;

constexpr std::int32_t kBos = 1;
constexpr std::int32_t kEos = 2;

struct Options {
  std::string preset = "small";
  std::int64_t vocabulary = 0;
  std::string lengths = "bench/lengths.txt";
  std::int64_t beam = 4;
  std::int64_t batch = 32;
  std::int64_t output_length = 16;
  std::int64_t sentences = 320;
  std::int64_t singles = 10;
  std::string precision = "int8";
  std::string shortlist;
  int threads = base::threads();
  std::string kernels;
  bool json = false;
};

// Random sentences of lengths taken evenly from the file, eos included.
Sentences read_sources(const Options& options, std::int64_t vocabulary) {
  std::ifstream file(options.lengths);
  base::check(file.good(), "cannot read {}", options.lengths);
  std::vector<std::int64_t> lengths;
  std::int64_t source = 0;
  std::int64_t target = 0;
  while (file >> source >> target) lengths.push_back(std::max<std::int64_t>(1, source));
  base::check(!lengths.empty(), "{}: expected lines 'source_length target_length'", options.lengths);
  const std::size_t stride = std::max<std::size_t>(1, lengths.size() / static_cast<std::size_t>(options.sentences));
  base::Random random(1);
  Sentences sources;
  for (std::size_t i = 0; i < lengths.size() && std::ssize(sources) < options.sentences; i += stride) {
    std::vector<std::int32_t> ids;
    for (std::int64_t n = 1; n < lengths[i]; ++n)
      ids.push_back(static_cast<std::int32_t>(3 + random.below(vocabulary - 3)));
    ids.push_back(kEos);
    sources.push_back(std::move(ids));
  }
  return sources;
}

// A file of bench/peers/make_shortlist.py, in which piece 7 is called t7; nothing without one.
std::shared_ptr<const infer::Shortlist> read_shortlist(const std::string& path, std::int64_t vocabulary) {
  if (path.empty()) return nullptr;
  std::ifstream file(path);
  base::check(file.good(), "cannot read {}", path);
  std::vector<std::int32_t> always;
  Sentences by_source(static_cast<std::size_t>(vocabulary));
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    base::check(tab != std::string::npos, "{}: a line without a tab", path);
    std::vector<std::int32_t>& ids = tab == 0 ? always : by_source.at(std::stoul(line.substr(1, tab - 1)));
    std::istringstream pieces(line.substr(tab + 1));
    for (std::string piece; pieces >> piece;) ids.push_back(piece == "</s>" ? kEos : std::stoi(piece.substr(1)));
  }
  return std::make_shared<const infer::Shortlist>(std::move(always), std::move(by_source));
}

// Exactly `output_length` tokens each, eos forbidden before and the search cut there.
infer::SearchOptions search_of(const Options& options, std::int64_t beam) {
  infer::SearchOptions search;
  search.bos = kBos;
  search.eos = kEos;
  search.beam_size = beam;
  search.min_length = search.max_length = options.output_length;
  search.max_length_extra = options.output_length;
  return search;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Output tokens of all sentences, the number checked.
std::int64_t translate(const nn::Transformer& model, const Sentences& sources, const infer::SearchOptions& search,
                       std::int64_t batch) {
  std::int64_t tokens = 0;
  for (const auto& found : infer::translate_tokens(model, sources, search, {.sentences = batch})) {
    tokens += std::ssize(found.front().token_log_probabilities);
  }
  base::check(tokens == std::ssize(sources) * search.max_length, "expected {} output tokens, found {}",
              std::ssize(sources) * search.max_length, tokens);
  return tokens;
}

// The median of some sentences translated alone, in milliseconds.
double alone(const nn::Transformer& model, const Sentences& sources, const infer::SearchOptions& search,
             std::int64_t count) {
  std::vector<double> times;
  const std::size_t stride = std::max<std::size_t>(1, sources.size() / static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < sources.size() && std::ssize(times) < count; i += stride) {
    const auto start = std::chrono::steady_clock::now();
    translate(model, {sources[i]}, search, 1);
    times.push_back(1000 * seconds_since(start));
  }
  std::nth_element(times.begin(), times.begin() + std::ssize(times) / 2, times.end());
  return times[times.size() / 2];
}

void run(const Options& options) {
  if (!options.kernels.empty()) kernels::use_path(options.kernels);
  base::set_threads(options.threads);
  nn::Config config = nn::preset(options.preset);
  const std::int64_t vocabulary = options.vocabulary > 0 ? options.vocabulary : options.preset == "base" ? 32000 : 8000;
  config.source_vocabulary = config.target_vocabulary = vocabulary;
  const nn::Transformer full(config, kBos, 1);
  const std::unique_ptr<nn::Transformer> frozen = infer::quantize(full, kernels::precision_of(options.precision));
  nn::Transformer& model = *frozen;
  model.pack();
  const Sentences sources = read_sources(options, vocabulary);
  infer::SearchOptions search = search_of(options, options.beam);
  infer::SearchOptions greedy_search = search_of(options, 1);
  search.shortlist = greedy_search.shortlist = read_shortlist(options.shortlist, vocabulary);
  const auto warm_up = std::min<std::ptrdiff_t>(std::ssize(sources), options.batch);
  translate(model, Sentences(sources.begin(), sources.begin() + warm_up), search, options.batch);
  const double single = alone(model, sources, search, options.singles);
  const double greedy = alone(model, sources, greedy_search, options.singles);
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t tokens = translate(model, sources, search, options.batch);
  const double seconds = seconds_since(start);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
  const double speed = static_cast<double>(tokens) / seconds;
  if (options.json) {
    std::printf(
        "{\"precision\": \"%s\", \"kernels\": \"%s\", \"threads\": %d, \"sentences\": %zu, \"output_tokens\": %lld, "
        "\"parameters\": %lld, "
        "\"output_tokens_per_second\": %.1f, \"single_sentence_ms\": %.2f, \"single_greedy_ms\": %.2f, "
        "\"peak_rss_mb\": %.0f}\n",
        options.precision.c_str(), kernels::current_path().c_str(), options.threads, sources.size(),
        static_cast<long long>(tokens), static_cast<long long>(model.parameters().count()), speed, single, greedy,
        megabytes);
  } else {
    std::printf(
        "zhuyi %s %s %.1f output_tokens/s  beam %lld, batch %lld  one sentence %.1f ms, greedy %.1f ms  peak_rss %.0f "
        "MB\n",
        options.precision.c_str(), options.preset.c_str(), speed, static_cast<long long>(options.beam),
        static_cast<long long>(options.batch), single, greedy, megabytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  Options options;
  CLI::App app("Speed of translation");
  app.option_defaults()->always_capture_default();
  app.add_option("--preset", options.preset, "model size");
  app.add_option("--vocabulary", options.vocabulary, "pieces (0: 32,000 for base, 8,000 otherwise)");
  app.add_option("--lengths", options.lengths, "file of lines: source length, target length");
  app.add_option("--beam", options.beam, "beam size");
  app.add_option("--batch", options.batch, "sentences in a batch");
  app.add_option("--output-length", options.output_length, "tokens of every translation, no more and no less");
  app.add_option("--sentences", options.sentences, "taken evenly from the lengths file")->check(CLI::Range(1, 1 << 30));
  app.add_option("--singles", options.singles, "sentences translated alone, for latency")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--precision", options.precision, "of the weights: f32, bf16 or int8")
      ->check(CLI::IsMember({"f32", "bf16", "int8"}));
  app.add_option("--shortlist", options.shortlist, "lists of bench/peers/make_shortlist.py");
  app.add_option("--threads", options.threads, "threads");
  app.add_flag("--json", options.json, "one JSON object");
  app.add_option("--kernels", options.kernels,
                 "instructions to compute with, as zhuyi --kernels; without, the best here")
      ->envname("ZHUYI_KERNELS");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_translate: %s\n", error.what());
    return 1;
  }
  return 0;
}
