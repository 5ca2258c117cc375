#pragma once
// The options of beam search and of its length penalty, as flags of a sub-command.

#include <CLI/CLI.hpp>
#include <string>

#include "infer/beam_search.h"

namespace zhuyi::cli {

// What can be asked for; the defaults are those of SearchOptions.
struct SearchFlags {
  infer::SearchOptions options;
  std::string length_penalty = "gnmt";
  std::string stop = "bound";
};

// Adds --alpha and --length-penalty.
void declare_length_penalty(CLI::App& app, SearchFlags& flags);
// Adds these and the others: --beam, --max-length-extra, ..., --sample, ...
void declare_search(CLI::App& app, SearchFlags& flags);

// The form that --length-penalty names.
infer::LengthPenalty length_penalty_of(const SearchFlags& flags);
// The options of a model's search with what was asked for.
infer::SearchOptions search_options_of(const SearchFlags& flags, const infer::SearchOptions& of_model);

}  // namespace zhuyi::cli
