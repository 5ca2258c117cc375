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
  std::string split;
  std::string split_documents;
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
  if (!options.split.empty()) options.corpus.split = data::parse_split(options.split);
  options.corpus.split.documents = options.split_documents;
  options.corpus.split.seed = options.seed;
  const data::CorpusReport report = data::make_corpus(options.corpus);
  if (options.per_source) print_sources(report);
  print_report(report, options.corpus);
}

}  // namespace

Action corpus_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  data::FilterOptions& filters = options->corpus.filters;
  app.add_option(
         "source", options->corpus.sources,
         "pairs:SOURCE_FILE,TARGET_FILE (line n translates line n), tsv:FILE (source TAB target [TAB document]), "
         "html:SOURCE_DIR,TARGET_DIR (the same pages in two languages), mo:FILE (gettext catalogue, or a folder "
         "of them); text files may be gzipped")
      ->required()
      ->type_name("SOURCE");
  app.add_option("-o,--output", options->corpus.output, "file to write: source TAB target TAB document")
      ->required()
      ->type_name("OUT.tsv");
  app.add_option("--max-length", filters.max_length, "drop pairs with more characters on a side");
  app.add_option("--max-ratio", filters.max_ratio,
                 "drop pairs of which one side is so many times as long (a Chinese character counts 3)");
  const std::map<std::string, data::Script> scripts{{"han", data::Script::han}, {"any", data::Script::any}};
  app.add_option("--target-script", filters.target_script,
                 "drop pairs without a character of this script in the target")
      ->transform(CLI::CheckedTransformer(scripts, CLI::ignore_case).description(""))
      ->type_name("han|any")
      ->default_str("han");
  app.add_flag("!--keep-paragraphs", options->corpus.split_paragraphs,
               "html and mo: keep paragraphs whole, do not split them where both sides have as many sentences");
  app.add_option("--split", options->split,
                 "hold out whole documents, as in valid=2%,test=2%: written to OUT.valid.tsv and OUT.test.tsv, their "
                 "sources removed from OUT.tsv")
      ->type_name("PARTS");
  app.add_option("--split-documents", options->split_documents,
                 "hold out only documents in whose name this regular expression is found")
      ->type_name("REGEX");
  app.add_option("--seed", options->seed, "choose other documents to hold out")->check(CLI::NonNegativeNumber);
  app.add_flag("--per-source", options->per_source, "also print what each source gave");
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
