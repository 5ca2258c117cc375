// zhuyi corpus: reads parallel text of several forms, cleans it, and writes one pair a line.

#include "data/corpus.h"

#include <fmt/format.h>

#include <iostream>
#include <map>
#include <memory>
#include <string>

#include "cli/command.h"

namespace zhuyi::cli {
namespace {

struct Options {
  data::CorpusOptions corpus;
  std::string hold_out;
  std::string hold_out_documents;
  std::uint64_t seed = 1;
  bool per_source = false;
};

void print_sources(const data::CorpusReport& report) {
  std::cerr << "      read      kept  source\n";
  for (const data::SourceReport& source : report.sources) {
    std::cerr << fmt::format("{:>10}{:>10}  {}\n", source.read, source.kept, source.source);
  }
}

void print_report(const data::CorpusReport& report, const data::CorpusOptions& options) {
  for (const data::SourceReport& source : report.sources) {
    if (source.skipped_pages == 0) continue;
    std::cerr << fmt::format("{}: left out {} pages that differ in their elements or stand on one side only\n",
                             source.source, source.skipped_pages);
  }
  std::cerr << fmt::format("{:>10}  pairs read\n", report.read);
  for (std::size_t i = 0; i < data::kReasons; ++i) {
    if (report.dropped[i] == 0) continue;
    std::cerr << fmt::format("{:>10}  dropped: {}\n", -report.dropped[i], data::describe(static_cast<data::Reason>(i)));
  }
  std::cerr << fmt::format("{:>10}  kept, in {} documents\n", report.train + report.valid + report.test,
                           report.documents);
  std::cerr << fmt::format("{:>10}  pairs in {}\n", report.train, options.output.string());
  if (!report.valid_path.empty()) {
    std::cerr << fmt::format("{:>10}  pairs in {}\n", report.valid, report.valid_path.string());
  }
  if (!report.test_path.empty()) {
    std::cerr << fmt::format("{:>10}  pairs in {}\n", report.test, report.test_path.string());
  }
}

void run(Options options) {
  if (!options.hold_out.empty()) options.corpus.split = data::parse_split(options.hold_out);
  options.corpus.split.documents = options.hold_out_documents;
  options.corpus.split.seed = options.seed;
  const data::CorpusReport report = data::make_corpus(options.corpus);
  if (options.per_source) print_sources(report);
  print_report(report, options.corpus);
  std::cout << options.corpus.output.string() << "\n";
  if (!report.valid_path.empty()) std::cout << report.valid_path.string() << "\n";
  if (!report.test_path.empty()) std::cout << report.test_path.string() << "\n";
}

}  // namespace

Action corpus_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  data::FilterOptions& filters = options->corpus.filters;
  app.add_option(
         "source", options->corpus.sources,
         "texts: pairs:SOURCE_FILE,TARGET_FILE (line n translates line n), tsv:FILE (source TAB target [TAB "
         "document]), "
         "html:SOURCE_DIR,TARGET_DIR (the same pages in two languages), mo:FILE (gettext catalogue, or a folder "
         "of them); text files may be gzipped")
      ->required()
      ->option_text("SOURCE...");
  app.add_option("-o,--output", options->corpus.output, "the pairs: lines 'source TAB target TAB document'")
      ->required()
      ->option_text("OUT.tsv");
  app.add_option("--max-characters", filters.max_length, "characters of a side at most; longer pairs are dropped")
      ->option_text(fmt::format("N [{}]", filters.max_length));
  app.add_option("--max-ratio", filters.max_ratio,
                 "how many times as long one side may be (a Chinese character counts 3); other pairs are dropped")
      ->option_text(fmt::format("F [{}]", filters.max_ratio));
  const std::map<std::string, data::Script> scripts{{"han", data::Script::han}, {"any", data::Script::any}};
  app.add_option("--target-script", filters.target_script,
                 "script of which a target must have a character: han or any; other pairs are dropped")
      ->transform(CLI::CheckedTransformer(scripts, CLI::ignore_case).description(""))
      ->option_text("NAME [han]");
  app.add_flag("!--keep-paragraphs", options->corpus.split_paragraphs,
               "whole paragraphs of html and mo, where both sides have as many sentences, too");
  app.add_option(
         "--hold-out", options->hold_out,
         "whole documents to hold out, as in valid=2%,test=2%: written to OUT.valid.tsv and OUT.test.tsv, their "
         "sources removed from OUT.tsv")
      ->option_text("PARTS");
  app.add_option("--hold-out-documents", options->hold_out_documents,
                 "what is found in the names of documents that may be held out, a regular expression")
      ->option_text("REGEX");
  app.add_option("--seed", options->seed, "another seed holds out other documents")
      ->check(CLI::NonNegativeNumber)
      ->option_text(fmt::format("N [{}]", options->seed));
  app.add_flag("--per-source", options->per_source, "what each source gave, too");
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
