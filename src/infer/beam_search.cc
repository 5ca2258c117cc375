#include "infer/beam_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/error.h"

namespace zhuyi::infer {
namespace {

constexpr std::int64_t kLargestBeam = 65536;
constexpr std::int64_t kBlock = 64;         // values looked at together by the scan of a row
constexpr float kLargestLogarithm = 1e-3F;  // what rounding may add to the logarithm of probability 1
constexpr float kNothing = -std::numeric_limits<float>::infinity();

// An extension of a live hypothesis by one token.
struct Candidate {
  double sum = 0;           // of log-probabilities, the token's included
  std::int64_t parent = 0;  // rank of the live hypothesis
  float last = 0;           // log-probability of the token
  std::int32_t token = 0;
};

// A hypothesis that goes on, and the row of the latest step that it continues.
struct Live {
  Hypothesis hypothesis;
  std::int64_t row = kNoParent;
};

// The search of one sentence.
struct Search {
  std::int64_t sentence = 0;
  std::int64_t max_length = 1;
  std::int64_t min_length = 0;
  std::vector<Live> live;            // best first
  std::vector<Hypothesis> finished;  // best first, no more than n_best
  std::int64_t finished_count = 0;   // also those that were not kept
  bool done = false;
};

// What all sentences of a call share.
struct Rules {
  const SearchOptions& options;
  std::vector<std::uint8_t> suppressed;  // [vocabulary] 1 for the tokens that are never produced
};

// The order of the candidates, rule 1.
bool better(const Candidate& a, const Candidate& b) {
  if (a.sum != b.sum) return a.sum > b.sum;
  if (a.parent != b.parent) return a.parent < b.parent;
  if (a.last != b.last) return a.last > b.last;
  return a.token < b.token;
}

// A value v such that no later token with log-probability <= v, after the hypothesis of this rank and sum, ranks above
// `worst`. Rows are scanned by rank and tokens by id, so `worst` comes from an earlier row or from earlier in this one.
float hopeless(const Candidate& worst, std::int64_t parent, double sum) {
  if (worst.parent == parent) return worst.last;
  constexpr double kLargest = std::numeric_limits<float>::max();
  float value = static_cast<float>(std::clamp(worst.sum - sum, -kLargest, kLargest));
  while (sum + static_cast<double>(value) > worst.sum) value = std::nextafter(value, kNothing);
  return value;
}

// Whether some value is above the limit, or nan. Written so that compilers vectorise it.
bool any_above(const float* values, std::int64_t count, float limit) {
  int found = 0;
  for (std::int64_t i = 0; i < count; ++i) found |= static_cast<int>(!(values[i] <= limit));
  return found != 0;
}

void check_value(float value, std::int64_t token, const Search& search, std::int64_t step) {
  base::check_kind(
      value <= kLargestLogarithm, base::ErrorKind::bad_model,
      "beam_search: sentence {}, step {}: token {} has the log-probability {}, expected a number not above 0; "
      "the model's weights are damaged, or too large for its arithmetic",
      search.sentence, step, token, value);
}

// Puts a candidate in its place among the best `limit`.
void insert(std::vector<Candidate>& best, std::size_t limit, const Candidate& candidate) {
  if (best.size() == limit) {
    if (!better(candidate, best.back())) return;
    best.pop_back();
  }
  best.insert(std::upper_bound(best.begin(), best.end(), candidate, better), candidate);
}

// The best 2 * beam_size extensions of the live hypotheses, best first. `rows` [live, vocabulary]. Most values are only
// compared with the worst candidate so far: a whole row costs one pass and about 2B ln(vocabulary / 2B) insertions.
std::vector<Candidate> ranked(const Search& search, const kernels::ConstMatrix<float>& rows, std::int64_t step,
                              const Rules& rules) {
  const auto limit = static_cast<std::size_t>(2 * rules.options.beam_size);
  const bool may_end = step > search.min_length;
  std::vector<Candidate> best;
  for (std::int64_t parent = 0; parent < rows.rows; ++parent) {
    const float* row = rows.row(parent);
    const double sum = search.live[static_cast<std::size_t>(parent)].hypothesis.log_probability;
    for (std::int64_t begin = 0; begin < rows.columns; begin += kBlock) {
      const std::int64_t end = std::min(rows.columns, begin + kBlock);
      const float too_low = best.size() == limit ? hopeless(best.back(), parent, sum) : kNothing;
      if (!any_above(row + begin, end - begin, too_low)) continue;
      for (std::int64_t i = begin; i < end; ++i) {
        if (row[i] <= too_low) continue;
        check_value(row[i], i, search, step);
        const auto token = static_cast<std::int32_t>(i);
        if (rules.suppressed[static_cast<std::size_t>(i)] != 0 || (token == rules.options.eos && !may_end)) continue;
        insert(best, limit,
               {.sum = sum + static_cast<double>(row[i]), .parent = parent, .last = row[i], .token = token});
      }
    }
  }
  return best;
}

double score_of(double log_probability, std::int64_t n, const SearchOptions& options) {
  return n == 0 ? 0.0 : log_probability / length_penalty(options.length_penalty, options.alpha, n);
}

// The hypothesis of a candidate; eos is not among its tokens.
Hypothesis extended(const Hypothesis& parent, const Candidate& candidate, const SearchOptions& options) {
  Hypothesis result = parent;
  result.finished = candidate.token == options.eos;
  if (!result.finished) result.tokens.push_back(candidate.token);
  result.token_log_probabilities.push_back(candidate.last);
  result.log_probability = candidate.sum;
  result.score = score_of(candidate.sum, static_cast<std::int64_t>(result.token_log_probabilities.size()), options);
  return result;
}

// Keeps the n_best of the finished; of equal scores the one that came first stays ahead.
void finish(Search& search, Hypothesis hypothesis, const SearchOptions& options) {
  ++search.finished_count;
  const auto place = std::upper_bound(search.finished.begin(), search.finished.end(), hypothesis,
                                      [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  search.finished.insert(place, std::move(hypothesis));
  if (std::ssize(search.finished) > options.n_best) search.finished.pop_back();
}

// Rule 4 after a step. The bound: sums only fall and the penalty only grows with the length, so no descendant of a live
// hypothesis scores above the best live sum over the penalty of the maximum length.
bool ended(const Search& search, std::int64_t step, const SearchOptions& options) {
  if (search.live.empty() || step >= search.max_length) return true;
  if (options.stop == Stop::beam_finished || options.beam_size == 1) return search.finished_count >= options.beam_size;
  if (std::ssize(search.finished) < options.n_best) return false;
  const double possible = score_of(search.live.front().hypothesis.log_probability, search.max_length, options);
  return search.finished.back().score >= possible;
}

// One step of one sentence. `rows` are its rows of the step, the first of which is row `first_row` of the whole.
void advance(Search& search, const kernels::ConstMatrix<float>& rows, std::int64_t first_row, std::int64_t step,
             const Rules& rules) {
  const std::vector<Candidate> candidates = ranked(search, rows, step, rules);
  if (candidates.empty()) {  // nothing is permitted: the live ones stay as they are
    search.done = true;
    return;
  }
  const auto beam = static_cast<std::size_t>(rules.options.beam_size);
  std::vector<Live> live;
  for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
    const Candidate& candidate = candidates[rank];
    const Hypothesis& parent = search.live[static_cast<std::size_t>(candidate.parent)].hypothesis;
    if (candidate.token == rules.options.eos) {
      if (rank < beam) finish(search, extended(parent, candidate, rules.options), rules.options);
    } else if (live.size() < beam) {
      live.push_back({extended(parent, candidate, rules.options), first_row + candidate.parent});
    }
  }
  search.live = std::move(live);
  search.done = ended(search, step, rules.options);
}

// Rule 5.
std::vector<Hypothesis> answer(Search search, const SearchOptions& options) {
  std::vector<Hypothesis> result = std::move(search.finished);
  for (Live& live : search.live) {
    if (std::ssize(result) >= options.n_best) break;
    result.push_back(std::move(live.hypothesis));
  }
  return result;
}

void check_options(const SearchOptions& options, std::int64_t vocabulary) {
  const auto is_token = [&](std::int32_t id) { return id >= 0 && id < vocabulary; };
  base::check(is_token(options.bos), "beam_search: bos is {}, expected a token in [0, {})", options.bos, vocabulary);
  base::check(is_token(options.eos), "beam_search: eos is {}, expected a token in [0, {})", options.eos, vocabulary);
  base::check(options.beam_size >= 1 && options.beam_size <= kLargestBeam,
              "beam_search: beam_size is {}, expected 1 to {}", options.beam_size, kLargestBeam);
  base::check(options.n_best >= 1 && options.n_best <= options.beam_size,
              "beam_search: n_best is {}, expected 1 to beam_size, which is {}", options.n_best, options.beam_size);
  base::check(std::isfinite(options.alpha) && options.alpha >= 0, "beam_search: alpha is {}, expected 0 or more",
              options.alpha);
  base::check(options.min_length >= 0, "beam_search: min_length is {}, expected 0 or more", options.min_length);
  for (const std::int32_t id : options.suppressed) {
    base::check(is_token(id), "beam_search: suppressed token {}, expected tokens in [0, {})", id, vocabulary);
    base::check(id != options.eos, "beam_search: eos ({}) is among the suppressed tokens; then nothing could end", id);
  }
}

std::vector<Search> start(std::span<const std::int64_t> source_lengths, const SearchOptions& options) {
  std::vector<Search> searches;
  searches.reserve(source_lengths.size());
  for (const std::int64_t source_length : source_lengths) {
    Search& search = searches.emplace_back();
    search.sentence = std::ssize(searches) - 1;
    search.max_length = maximum_length(options, source_length);
    search.min_length = std::min(options.min_length, search.max_length - 1);
    search.live.emplace_back();
  }
  return searches;
}

// The rows of the next step, in the order of the sentences and of their live hypotheses.
std::vector<HypothesisStep> rows_to_score(std::span<const Search> searches, const SearchOptions& options) {
  std::vector<HypothesisStep> rows;
  for (const Search& search : searches) {
    if (search.done) continue;
    for (const auto& [hypothesis, row] : search.live) {
      const std::int32_t token = hypothesis.tokens.empty() ? options.bos : hypothesis.tokens.back();
      rows.push_back({.sentence = search.sentence, .parent = row, .token = token});
    }
  }
  return rows;
}

}  // namespace

double length_penalty(LengthPenalty form, double alpha, std::int64_t n) {
  base::check(n >= 1, "length_penalty: a length of {} tokens, expected 1 or more (eos counts)", n);
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
  base::check(std::isfinite(options.max_length_factor) && options.max_length_factor >= 0,
              "beam_search: max_length_factor is {}, expected 0 or more", options.max_length_factor);
  base::check(options.max_length_extra >= 0, "beam_search: max_length_extra is {}, expected 0 or more",
              options.max_length_extra);
  base::check(options.max_length >= 1, "beam_search: max_length is {}, expected 1 or more", options.max_length);
  base::check(source_length >= 0, "beam_search: a source of {} tokens, expected 0 or more", source_length);
  const double wanted =
      options.max_length_factor * static_cast<double>(source_length) + static_cast<double>(options.max_length_extra);
  if (wanted >= static_cast<double>(options.max_length)) return options.max_length;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
}

std::vector<std::vector<Hypothesis>> beam_search(Scorer& scorer, std::span<const std::int64_t> source_lengths,
                                                 const SearchOptions& options) {
  const std::int64_t vocabulary = scorer.vocabulary();
  check_options(options, vocabulary);
  Rules rules{.options = options, .suppressed = std::vector<std::uint8_t>(static_cast<std::size_t>(vocabulary), 0)};
  for (const std::int32_t id : options.suppressed) rules.suppressed[static_cast<std::size_t>(id)] = 1;

  std::vector<Search> searches = start(source_lengths, options);
  std::vector<HypothesisStep> rows = rows_to_score(searches, options);
  for (std::int64_t step = 1; !rows.empty(); ++step) {
    const kernels::ConstMatrix<float> scores = scorer.step(rows);
    base::check_kind(scores.rows == std::ssize(rows) && scores.columns == vocabulary && scores.column_stride == 1,
                     base::ErrorKind::internal,
                     "beam_search: the scorer gave [{}, {}] with column stride {}, expected [{}, {}] with stride 1",
                     scores.rows, scores.columns, scores.column_stride, rows.size(), vocabulary);
    std::int64_t row = 0;
    for (Search& search : searches) {
      if (search.done) continue;
      const std::int64_t count = std::ssize(search.live);
      advance(search, scores.block(row, 0, count, vocabulary), row, step, rules);
      row += count;
    }
    rows = rows_to_score(searches, options);
  }

  std::vector<std::vector<Hypothesis>> answers;
  answers.reserve(searches.size());
  for (Search& search : searches) answers.push_back(answer(std::move(search), options));
  return answers;
}

}  // namespace zhuyi::infer
