#include "cli/search_flags.h"

#include <fmt/format.h>

#include <algorithm>

namespace zhuyi::cli {

void declare_length_penalty(CLI::App& app, SearchFlags& flags) {
  app.add_option("--length-penalty", flags.length_penalty,
                 "what the log-probability of n pieces is divided by: gnmt ((5+n)/6)^alpha, power n^alpha, none 1")
      ->check(CLI::IsMember({"gnmt", "power", "none"}))
      ->option_text(fmt::format("NAME [{}]", flags.length_penalty));
  app.add_option("--alpha", flags.options.alpha, "the penalty's exponent; more favours longer translations")
      ->check(CLI::Range(0.0, 100.0))
      ->option_text(fmt::format("A [{}]", flags.options.alpha));
}

namespace {

void declare_lengths(CLI::App& app, infer::SearchOptions& options) {
  app.add_option("--max-length-factor", options.max_length_factor,
                 "most pieces of a translation: F * source pieces + extra")
      ->check(CLI::Range(0.0, 1000.0))
      ->option_text(fmt::format("F [{}]", options.max_length_factor));
  app.add_option("--max-length-extra", options.max_length_extra, "extra pieces of that limit")
      ->check(CLI::Range(0, 1 << 20))
      ->option_text(fmt::format("N [{}]", options.max_length_extra));
  app.add_option("--max-length", options.max_length, "most pieces of a translation, whatever the source's length")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text(fmt::format("N [{}]", options.max_length));
  app.add_option("--min-length", options.min_length, "pieces before a translation may end")
      ->check(CLI::Range(0, 1 << 20))
      ->option_text(fmt::format("N [{}]", options.min_length));
  app.add_option("--min-length-factor", options.min_length_factor, "pieces before it may end, too: F * source pieces")
      ->check(CLI::Range(0.0, 1000.0))
      ->option_text(fmt::format("F [{}]", options.min_length_factor));
}

void declare_penalties(CLI::App& app, infer::SearchOptions& options) {
  app.add_option("--coverage-penalty", options.coverage_penalty,
                 "B * sum over source pieces of log min(1, attention), added to the score (Wu et al., 2016)")
      ->check(CLI::Range(0.0, 100.0))
      ->option_text(fmt::format("B [{}]", options.coverage_penalty));
  app.add_option("--repetition-penalty", options.repetition_penalty,
                 "factor of the log-probability of a piece that was used already")
      ->check(CLI::Range(0.01, 100.0))
      ->option_text(fmt::format("R [{}]", options.repetition_penalty));
  app.add_option("--no-repeat-ngram", options.no_repeat_ngram, "pieces in a row that do not occur twice; 0: any may")
      ->check(CLI::Range(0, 1 << 20))
      ->option_text(fmt::format("N [{}]", options.no_repeat_ngram));
  app.add_option(
         "--max-repeats", options.max_repeats,
         "times in a row that a block of up to 8 pieces may stand, unless one stands more often in the source; 0: any")
      ->check(CLI::Range(0, 1 << 20))
      ->option_text(fmt::format("N [{}]", options.max_repeats));
}

void declare_sampling(CLI::App& app, infer::Sampling& sampling) {
  app.add_flag("--sample", sampling.on,
               "translations that are drawn (with --n-best N, N of them) instead of searched for");
  app.add_option("--temperature", sampling.temperature, "T of drawing in proportion to p^(1/T)")
      ->check(CLI::Range(0.001, 1000.0))
      ->option_text(fmt::format("T [{}]", sampling.temperature));
  app.add_option("--top-k", sampling.top_k, "most probable pieces, among which is drawn; 0: all")
      ->check(CLI::Range(0, 1 << 20))
      ->option_text(fmt::format("K [{}]", sampling.top_k));
  app.add_option("--top-p", sampling.top_p, "share that the fewest of these sum up to, among which is drawn")
      ->check(CLI::Range(1e-6, 1.0))
      ->option_text(fmt::format("P [{}]", sampling.top_p));
  app.add_option("--seed", sampling.seed, "another seed draws other translations; a line's draw depends on it alone")
      ->option_text(fmt::format("N [{}]", sampling.seed));
}

}  // namespace

void declare_search(CLI::App& app, SearchFlags& flags) {
  infer::SearchOptions& options = flags.options;
  app.add_option("--beam", options.beam_size, "hypotheses kept alive; 1 is greedy search, the fastest")
      ->check(CLI::Range(1, 65536))
      ->option_text(fmt::format("N [{}]", options.beam_size));
  declare_length_penalty(app, flags);
  declare_lengths(app, options);
  declare_penalties(app, options);
  app.add_option("--stop", flags.stop,
                 "end of the search: bound, when nothing better can come; beam-finished, when --patience times --beam "
                 "hypotheses have ended; first-finished, when one has")
      ->check(CLI::IsMember({"bound", "beam-finished", "first-finished"}))
      ->option_text(fmt::format("NAME [{}]", flags.stop));
  app.add_option("--patience", options.patience, "factor of --stop beam-finished")
      ->check(CLI::Range(0.001, 1000.0))
      ->option_text(fmt::format("F [{}]", options.patience));
  declare_sampling(app, options.sampling);
}

infer::LengthPenalty length_penalty_of(const SearchFlags& flags) {
  if (flags.length_penalty == "power") return infer::LengthPenalty::power;
  return flags.length_penalty == "none" ? infer::LengthPenalty::none : infer::LengthPenalty::gnmt;
}

infer::SearchOptions search_options_of(const SearchFlags& flags, const infer::SearchOptions& of_model) {
  infer::SearchOptions asked = flags.options;
  asked.bos = of_model.bos;
  asked.eos = of_model.eos;
  asked.suppressed = of_model.suppressed;
  asked.length_penalty = length_penalty_of(flags);
  asked.max_length = std::min(of_model.max_length, asked.max_length);
  asked.stop = flags.stop == "bound"           ? infer::Stop::bound
               : flags.stop == "beam-finished" ? infer::Stop::beam_finished
                                               : infer::Stop::first_finished;
  return asked;
}

}  // namespace zhuyi::cli
