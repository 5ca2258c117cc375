#include "infer/search_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace zhuyi::infer {
namespace {

using base::check;

constexpr std::int64_t kLargestBeam = 65536;

void check_tokens(const SearchOptions& options, std::int64_t vocabulary) {
  const auto is_token = [&](std::int32_t id) { return id >= 0 && id < vocabulary; };
  check(is_token(options.bos), "beam_search: bos is {}, expected a token in [0, {})", options.bos, vocabulary);
  check(is_token(options.eos), "beam_search: eos is {}, expected a token in [0, {})", options.eos, vocabulary);
  for (const std::int32_t id : options.suppressed) {
    check(is_token(id), "beam_search: suppressed token {}, expected tokens in [0, {})", id, vocabulary);
    check(id != options.eos, "beam_search: eos ({}) is among the suppressed tokens; then nothing could end", id);
  }
  for (const std::vector<std::int32_t>& sequence : options.banned) {
    check(!sequence.empty(), "beam_search: an empty sequence is banned, expected one token or more");
    for (const std::int32_t id : sequence) {
      check(is_token(id) && id != options.eos, "beam_search: token {} in a banned sequence, expected [0, {}) but eos",
            id, vocabulary);
    }
  }
  for (const std::string& text : options.banned_texts) {
    check(!text.empty(), "beam_search: an empty text is banned, expected one character or more");
    check(options.token_texts != nullptr && std::ssize(*options.token_texts) == vocabulary,
          "beam_search: texts are banned, so token_texts must have {} entries", vocabulary);
  }
}

void check_numbers(const SearchOptions& options) {
  check(options.beam_size >= 1 && options.beam_size <= kLargestBeam, "beam_search: beam_size is {}, expected 1 to {}",
        options.beam_size, kLargestBeam);
  check(options.n_best >= 1 && options.n_best <= (options.sampling.on ? kLargestBeam : options.beam_size),
        "beam_search: n_best is {}, expected 1 to beam_size, which is {}", options.n_best, options.beam_size);
  check(std::isfinite(options.alpha) && options.alpha >= 0, "beam_search: alpha is {}, expected 0 or more",
        options.alpha);
  check(std::isfinite(options.coverage_penalty) && options.coverage_penalty >= 0,
        "beam_search: coverage_penalty is {}, expected 0 or more", options.coverage_penalty);
  check(std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0,
        "beam_search: repetition_penalty is {}, expected a number above 0", options.repetition_penalty);
  check(options.no_repeat_ngram >= 0, "beam_search: no_repeat_ngram is {}, expected 0 or more",
        options.no_repeat_ngram);
  check(options.max_repeats >= 0, "beam_search: max_repeats is {}, expected 0 or more", options.max_repeats);
  check(options.min_length >= 0, "beam_search: min_length is {}, expected 0 or more", options.min_length);
  check(std::isfinite(options.min_length_factor) && options.min_length_factor >= 0,
        "beam_search: min_length_factor is {}, expected 0 or more", options.min_length_factor);
  check(std::isfinite(options.patience) && options.patience > 0, "beam_search: patience is {}, expected a number > 0",
        options.patience);
  const Sampling& sampling = options.sampling;
  check(std::isfinite(sampling.temperature) && sampling.temperature > 0,
        "beam_search: temperature is {}, expected a number above 0", sampling.temperature);
  check(sampling.top_k >= 0, "beam_search: top_k is {}, expected 0 or more", sampling.top_k);
  check(sampling.top_p > 0 && sampling.top_p <= 1, "beam_search: top_p is {}, expected above 0, at most 1",
        sampling.top_p);
}

}  // namespace

std::int64_t most_repeats(std::span<const std::int32_t> tokens) {
  std::int64_t most = tokens.empty() ? 0 : 1;
  for (std::int64_t length = 1; length <= kLongestBlock; ++length) {
    std::int64_t same = 0;  // tokens up to here that equal those a block before
    for (std::int64_t i = length; i < std::ssize(tokens); ++i) {
      const bool repeated = tokens[static_cast<std::size_t>(i)] == tokens[static_cast<std::size_t>(i - length)];
      same = repeated ? same + 1 : 0;
      most = std::max(most, same / length + 1);
    }
  }
  return most;
}

double length_penalty(LengthPenalty form, double alpha, std::int64_t n) {
  check(n >= 1, "length_penalty: a length of {} tokens, expected 1 or more (eos counts)", n);
  switch (form) {
    case LengthPenalty::gnmt:
      return std::pow((5.0 + static_cast<double>(n)) / 6.0, alpha);
    case LengthPenalty::power:
      return std::pow(static_cast<double>(n), alpha);
    case LengthPenalty::none:
      return 1.0;
  }
  base::fail(base::ErrorKind::internal, "length_penalty: no form number {}", static_cast<int>(form));
}

std::int64_t maximum_length(const SearchOptions& options, std::int64_t source_length) {
  check(std::isfinite(options.max_length_factor) && options.max_length_factor >= 0,
        "beam_search: max_length_factor is {}, expected 0 or more", options.max_length_factor);
  check(options.max_length_extra >= 0, "beam_search: max_length_extra is {}, expected 0 or more",
        options.max_length_extra);
  check(options.max_length >= 1, "beam_search: max_length is {}, expected 1 or more", options.max_length);
  check(source_length >= 0, "beam_search: a source of {} tokens, expected 0 or more", source_length);
  const double wanted =
      options.max_length_factor * static_cast<double>(source_length) + static_cast<double>(options.max_length_extra);
  if (wanted >= static_cast<double>(options.max_length)) return options.max_length;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
}

std::int64_t minimum_length(const SearchOptions& options, std::int64_t source_length) {
  const std::int64_t limit = maximum_length(options, source_length) - 1;
  const double relative = options.min_length_factor * static_cast<double>(std::max<std::int64_t>(0, source_length - 1));
  if (relative >= static_cast<double>(limit)) return limit;
  return std::min(limit, std::max(options.min_length, static_cast<std::int64_t>(relative)));
}

SearchRules::SearchRules(SearchOptions given, std::int64_t tokens)
    : options(std::move(given)), vocabulary(tokens), suppressed(static_cast<std::size_t>(tokens), 0) {
  check_tokens(options, vocabulary);
  check_numbers(options);
  maximum_length(options, 0);
  for (const std::int32_t id : options.suppressed) suppressed[static_cast<std::size_t>(id)] = 1;
}

}  // namespace zhuyi::infer
