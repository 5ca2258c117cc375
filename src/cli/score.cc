// zhuyi score: how probable a model finds given translations.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/search_flags.h"
#include "data/pairs.h"
#include "infer/translator.h"

namespace zhuyi::cli {
namespace {

struct Options {
  std::string model;
  std::string pairs;
  SearchFlags search;
  std::int64_t batch = 32;
  int threads = base::threads();
  bool per_token = false;
  bool pieces = false;
  bool normalized = false;
};

std::string text_of(const infer::ScoredPair& pair, const Options& options) {
  double score = pair.log_probability;
  if (options.normalized) {
    score /= infer::length_penalty(length_penalty_of(options.search), options.search.options.alpha,
                                   std::ssize(pair.token_log_probabilities));
  }
  if (!options.per_token) return fmt::format("{:.6f}\n", score);
  return fmt::format("{:.6f}\t{:.6f}\n", score, fmt::join(pair.token_log_probabilities, " "));
}

void run(const Options& options) {
  base::set_threads(options.threads);
  const infer::Translator translator(formats::load_model(options.model));
  const std::vector<data::SentencePair> pairs = data::read_tsv(options.pairs);
  catch_interrupts();
  const infer::BatchLimits batches{.sentences = options.batch, .interrupted = interrupted};
  const auto window = static_cast<std::size_t>(4 * options.batch * options.threads);
  for (std::size_t begin = 0; begin < pairs.size(); begin += window) {
    std::vector<std::string> sources;
    std::vector<std::string> targets;
    for (std::size_t i = begin; i < std::min(begin + window, pairs.size()); ++i) {
      sources.push_back(pairs[i].source);
      targets.push_back(pairs[i].target);
    }
    const std::vector<infer::ScoredPair> scored = base::within(options.pairs, [&] {
      return translator.score(sources, targets, batches, static_cast<std::int64_t>(begin) + 1, options.pieces);
    });
    for (const infer::ScoredPair& pair : scored) std::cout << text_of(pair, options);
    std::cout.flush();
    base::check_kind(std::cout.good(), base::ErrorKind::system, "cannot write to standard output");
  }
}

}  // namespace

Action score_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("-m,--model", options->model, "the model")->required()->option_text("MODEL");
  app.add_option("pairs", options->pairs, "lines 'source TAB translation', as zhuyi corpus writes them")
      ->required()
      ->option_text("PAIRS.tsv");
  app.add_flag("--pieces", options->pieces,
               "translations in pieces of the vocabulary with spaces between, as translate --format json has them");
  app.add_flag("--normalized", options->normalized,
               "scores divided by the length penalty, as the search does to compare");
  app.add_flag("--per-token", options->per_token, "score, a tab and the log-probability of each piece, the end's last");
  declare_length_penalty(app, options->search);
  app.add_option("--batch", options->batch, "pairs scored together; changes the speed, never a number")
      ->check(CLI::Range(1, 65536))
      ->option_text(fmt::format("N [{}]", options->batch));
  app.add_option("--threads", options->threads, "threads")->check(CLI::Range(1, 1024))->option_text("N [all cores]");
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
