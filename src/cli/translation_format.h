#pragma once
// Translations as lines of text: plain, tab-separated or JSON.

#include <cstdint>
#include <string>

#include "infer/translation.h"

namespace zhuyi::cli {

enum class Format { plain, json, tsv };

// What a line of output has besides the translation.
struct FormatOptions {
  Format format = Format::plain;
  std::int64_t n_best = 0;      // 0: one translation a line
  bool score = false;           // plain: the score and a tab first
  bool word_scores = false;     // json
  bool hard_alignment = false;  // plain, json
  bool soft_alignment = false;  // json
  double seconds = -1;          // json: what the lines' window took; below 0: left out
};

// The lines of output for one line of input, each ended; `line` counts from 0.
//   plain           text [ ||| 0-0 1-1 ...]
//   plain, n-best   line ||| text ||| score [ ||| 0-0 1-1 ...]
//   tsv             source TAB text TAB score, a line for each alternative; tabs in the source become spaces
//   json            an object: line, source, text, score, ..., and with n-best an array of all alternatives
std::string text_of(const infer::Translation& translation, const std::string& source, std::int64_t line,
                    const FormatOptions& options);

}  // namespace zhuyi::cli
