// zhuyi evaluate: BLEU and chrF of a translation against a reference, printed as sacreBLEU prints them.

#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/tokenize.h"
#include "text/utf8.h"

namespace zhuyi::cli {
namespace {

struct Options {
  std::string reference;
  std::string hypothesis = "-";
  std::string tokenization = "auto";
  std::string metric = "both";
  std::int64_t chrf_word_order = 0;
  int width = 1;
  bool json = false;
};

struct Scores {
  std::int64_t sentences = 0;
  std::optional<metrics::BleuScore> bleu;
  std::optional<metrics::ChrfScore> chrf;
};

// The lines of a text read from `name`. Throws bad_file for ill-formed UTF-8: a score over mended text would compare
// with no other.
std::vector<std::string> lines_of(const std::string& name, const std::string& text) {
  std::vector<std::string> lines;
  base::for_each_line(text, [&](std::string_view line) {
    lines.emplace_back(line);
    base::check_kind(text::valid_utf8(line), base::ErrorKind::bad_file,
                     "{}, line {}: not valid UTF-8; convert the file to UTF-8 first (iconv -f OTHER -t UTF-8)", name,
                     lines.size());
  });
  return lines;
}

std::string read_standard_input() {
  if (isatty(STDIN_FILENO) == 1)
    std::cerr << "zhuyi: reading the hypothesis from standard input, one sentence a line\n";
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

Scores evaluate(const Options& options) {
  const std::vector<std::string> references = lines_of(options.reference, base::read_file(options.reference));
  const bool piped = options.hypothesis == "-";
  const std::string hypothesis_name = piped ? "standard input" : options.hypothesis;
  const std::vector<std::string> hypotheses =
      lines_of(hypothesis_name, piped ? read_standard_input() : base::read_file(options.hypothesis));
  base::check_kind(
      references.size() == hypotheses.size(), base::ErrorKind::bad_file,
      "{} has {} lines and {} has {}: line i of one must translate line i of the other, so both need the same "
      "number (keep blank lines)",
      options.reference, references.size(), hypothesis_name, hypotheses.size());
  base::check_kind(!references.empty(), base::ErrorKind::bad_file, "{} is empty, expected at least one line",
                   options.reference);
  Scores scores;
  scores.sentences = static_cast<std::int64_t>(references.size());
  if (options.metric != "chrf") {
    const metrics::Tokenization tokenization = options.tokenization == "auto"
                                                   ? metrics::default_tokenization(references)
                                                   : metrics::tokenization_named(options.tokenization);
    scores.bleu = metrics::corpus_bleu(hypotheses, references, tokenization);
  }
  if (options.metric != "bleu") {
    scores.chrf = metrics::corpus_chrf(hypotheses, references, {.word_order = options.chrf_word_order});
  }
  return scores;
}

void print_lines(const Scores& scores, int width) {
  if (scores.bleu) std::cout << metrics::format(*scores.bleu, width) << "\n";
  if (scores.chrf) std::cout << metrics::format(*scores.chrf, width) << "\n";
}

void print_json(const Scores& scores) {
  nlohmann::ordered_json object = {{"sentences", scores.sentences}};
  if (scores.bleu) {
    object["BLEU"] = {{"score", scores.bleu->score},
                      {"precisions", scores.bleu->precisions},
                      {"matches", scores.bleu->matches},
                      {"totals", scores.bleu->totals},
                      {"brevity_penalty", scores.bleu->brevity_penalty},
                      {"hypothesis_length", scores.bleu->hypothesis_length},
                      {"reference_length", scores.bleu->reference_length},
                      {"signature", scores.bleu->signature}};
  }
  if (scores.chrf) {
    object[scores.chrf->name] = {{"score", scores.chrf->score}, {"signature", scores.chrf->signature}};
  }
  std::cout << object.dump() << "\n";
}

}  // namespace

Action evaluate_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("reference", options->reference, "the right translations, one sentence a line (UTF-8)")
      ->required()
      ->option_text("REFERENCE");
  app.add_option("hypothesis", options->hypothesis, "the translations to judge, line by line; - is standard input")
      ->option_text("HYPOTHESIS [-]");
  app.add_option("--tokenize", options->tokenization,
                 "words that BLEU counts: 13a, zh, char, intl or none; auto is zh where the reference is mostly Han, "
                 "else 13a")
      ->check(CLI::IsMember({"auto", "13a", "zh", "char", "intl", "none"}))
      ->option_text("NAME [auto]");
  app.add_option("--metric", options->metric, "measures to compute: bleu, chrf or both")
      ->check(CLI::IsMember({"bleu", "chrf", "both"}))
      ->option_text("NAME [both]");
  app.add_option("--chrf-word-order", options->chrf_word_order, "words that chrF counts as well; 2 is chrF++")
      ->check(CLI::Range(0, 9))
      ->option_text("N [0]");
  app.add_option("--width", options->width, "digits of the scores behind the point, up to 17")
      ->check(CLI::Range(0, 17))
      ->option_text("N [1]");
  app.add_flag("--json", options->json, "one JSON object, its numbers in full precision");
  return [options] {
    const Scores scores = evaluate(*options);
    if (options->json) {
      print_json(scores);
    } else {
      print_lines(scores, options->width);
    }
  };
}

}  // namespace zhuyi::cli
