// zhuyi shortlist: which target pieces may translate a source piece, from a model's own alignments of its training
// text.

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "data/pairs.h"
#include "infer/shortlist.h"

namespace zhuyi::cli {
namespace {

struct Options {
  std::string model;
  std::string pairs;
  std::string output;
  infer::ShortlistOptions shortlist;
  int threads = base::threads();
};

void run(const Options& options) {
  base::set_threads(options.threads);
  formats::Model model = formats::load_model(options.model);
  model.transformer->pack();
  const std::vector<data::SentencePair> pairs = data::read_tsv(options.pairs);
  catch_interrupts();
  infer::ShortlistOptions how = options.shortlist;
  how.interrupted = interrupted;
  const infer::Shortlist shortlist = infer::make_shortlist(model, pairs, how);
  shortlist.save(options.output, model);
  std::int64_t sum = 0;
  for (const data::SentencePair& pair : pairs) sum += std::ssize(shortlist.allowed(model.source.encode(pair.source)));
  std::cerr << fmt::format("from {} pairs: {:.0f} of {} pieces for a sentence on average\n", pairs.size(),
                           static_cast<double>(sum) / std::max(1.0, static_cast<double>(pairs.size())),
                           model.target.size());
  std::cout << options.output << "\n";
}

}  // namespace

Action shortlist_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("-m,--model", options->model, "the model")->required()->option_text("MODEL");
  app.add_option("pairs", options->pairs, "its training text: lines 'source TAB translation'")
      ->required()
      ->option_text("PAIRS.tsv");
  app.add_option("-o,--output", options->output, "the shortlist, for zhuyi translate --shortlist")
      ->required()
      ->option_text("FILE");
  app.add_option("--best", options->shortlist.best, "target pieces for each source piece")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text(fmt::format("N [{}]", options->shortlist.best));
  app.add_option("--frequent", options->shortlist.frequent, "the most frequent target pieces, for every sentence")
      ->check(CLI::Range(0, 1 << 20))
      ->option_text(fmt::format("N [{}]", options->shortlist.frequent));
  app.add_option("--threads", options->threads, "threads")->check(CLI::Range(1, 1024))->option_text("N [all cores]");
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
