#pragma once
// What zhuyi translate may be asked for, as flags, and as options of the translator.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/search_flags.h"
#include "cli/translation_format.h"
#include "infer/translator.h"

namespace zhuyi::cli {

struct TranslateFlags {
  std::vector<std::string> models;
  std::vector<double> weights;
  std::string file = "-";
  std::string output;
  bool resume = false;
  std::string attention;
  SearchFlags search;
  std::int64_t n_best = 0;  // 0: one line a line
  // Text.
  std::int64_t max_source_tokens = 256;
  std::string language = "en";
  bool split = true;
  bool protect = true;
  std::string prefix;
  std::string prefixes;
  std::string phrases;
  std::string glossary;
  std::vector<std::string> banned;
  std::vector<std::string> banned_pieces;      // sequences, with spaces between
  std::vector<std::string> suppressed_pieces;  // lists, with spaces between
  std::string unknown = "forbid";
  std::string shortlist;
  // Rescoring.
  std::string rescore;
  double rescore_weight = 1;
  bool rescore_reverse = false;
  // Output.
  std::string format = "plain";
  bool score = false;
  bool word_scores = false;
  bool timing = false;
  std::string alignment = "none";
  std::int64_t alignment_layer = 0;  // 0: the last
  std::int64_t alignment_head = 0;   // 0: the mean
  // Work.
  std::int64_t batch = 8;
  std::int64_t batch_tokens = 4096;
  std::string memory = "0";
  int threads = 1;
  bool line = false;
};

void declare_translate(CLI::App& app, TranslateFlags& flags);

// The options of a translator as the flags say. Throws invalid_argument for flags that do not go together, not_found
// and bad_file for a glossary that cannot be read.
infer::TranslateOptions options_of(const TranslateFlags& flags, const infer::Translator& translator);
FormatOptions format_of(const TranslateFlags& flags);

}  // namespace zhuyi::cli
