#include "cli/search_flags.h"

#include <fmt/format.h>

#include <algorithm>

namespace zhuyi::cli {

void declare_length_penalty(CLI::App& app, SearchFlags& flags) {
  app.add_option("--length-penalty", flags.length_penalty,
                 "What the log-probability of n pieces is divided by: gnmt ((5+n)/6)^alpha, power n^alpha, none 1")
      ->check(CLI::IsMember({"gnmt", "power", "none"}))
      ->option_text(fmt::format("NAME [{}]", flags.length_penalty));
  app.add_option("--alpha", flags.options.alpha, "The penalty's exponent; more favours longer translations")
      ->check(CLI::Range(0.0, 100.0))
      ->option_text(fmt::format("A [{}]", flags.options.alpha));
}

void declare_search(CLI::App& app, SearchFlags& flags) {
  infer::SearchOptions& options = flags.options;
  app.add_option("--beam", options.beam_size, "Hypotheses kept alive; 1 is greedy search, the fastest")
      ->check(CLI::Range(1, 65536))
      ->option_text(fmt::format("N [{}]", options.beam_size));
  declare_length_penalty(app, flags);
  app.add_option("--max-length-factor", options.max_length_factor,
                 "A translation has at most F * source pieces + extra")
      ->check(CLI::Range(0.0, 1000.0))
      ->option_text(fmt::format("F [{}]", options.max_length_factor));
  app.add_option("--max-length-extra", options.max_length_extra, "The extra pieces of that limit")
      ->check(CLI::Range(0, 1 << 20))
      ->option_text(fmt::format("N [{}]", options.max_length_extra));
  app.add_option("--max-length", options.max_length, "Nor more pieces than this, whatever the source's length")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text(fmt::format("N [{}]", options.max_length));
  app.add_option("--min-length", options.min_length, "Pieces before a translation may end")
      ->check(CLI::Range(0, 1 << 20))
      ->option_text(fmt::format("N [{}]", options.min_length));
  app.add_option(
         "--stop", flags.stop,
         "End the search: bound, when nothing better can come; beam-finished, when --beam hypotheses have ended")
      ->check(CLI::IsMember({"bound", "beam-finished"}))
      ->option_text(fmt::format("NAME [{}]", flags.stop));
}

infer::LengthPenalty length_penalty_of(const SearchFlags& flags) {
  if (flags.length_penalty == "power") return infer::LengthPenalty::power;
  return flags.length_penalty == "none" ? infer::LengthPenalty::none : infer::LengthPenalty::gnmt;
}

void apply(const SearchFlags& flags, infer::SearchOptions& options) {
  options.beam_size = flags.options.beam_size;
  options.alpha = flags.options.alpha;
  options.length_penalty = length_penalty_of(flags);
  options.max_length_factor = flags.options.max_length_factor;
  options.max_length_extra = flags.options.max_length_extra;
  options.max_length = std::min(options.max_length, flags.options.max_length);
  options.min_length = flags.options.min_length;
  options.stop = flags.stop == "bound" ? infer::Stop::bound : infer::Stop::beam_finished;
}

}  // namespace zhuyi::cli
