#include "infer/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "kernels/rows.h"

namespace zhuyi::infer {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr float kLargestLogarithm = 1e-3F;  // what rounding may add to the logarithm of probability 1
constexpr float kNothing = -std::numeric_limits<float>::infinity();
constexpr float kImpossible = -1e9F;  // stands for the logarithm of 0 where a token is forced

// A value v such that no later token with log-probability <= v, after the hypothesis of this rank and sum, ranks above
// `worst`. Rows are scanned by rank and tokens by id, so `worst` comes from an earlier row or from earlier in this one.
float hopeless(const Candidate& worst, std::int64_t parent, double sum) {
  if (worst.parent == parent) return worst.value;
  constexpr double kLargest = std::numeric_limits<float>::max();
  float value = static_cast<float>(std::clamp(worst.sum - sum, -kLargest, kLargest));
  while (sum + static_cast<double>(value) > worst.sum) value = std::nextafter(value, kNothing);
  return value;
}

void check_value(float value, std::int64_t token, const StepInput& input) {
  base::check_kind(
      value <= kLargestLogarithm, base::ErrorKind::bad_model,
      "beam_search: sentence {}, step {}: token {} has the log-probability {}, expected a number not above 0; "
      "the model's weights are damaged, or too large for its arithmetic",
      input.sentence, input.step, token, value);
}

// Puts a candidate in order among the best `limit`.
void insert(std::vector<Candidate>& best, std::size_t limit, const Candidate& candidate) {
  if (best.size() == limit) best.pop_back();
  best.insert(std::upper_bound(best.begin(), best.end(), candidate, better), candidate);
}

bool worthy(const std::vector<Candidate>& best, std::size_t limit, const Candidate& candidate) {
  return best.size() < limit || better(candidate, best.back());
}

// One live hypothesis and what may follow it.
struct Parent {
  std::int64_t rank = 0;
  double sum = 0;
  Extensions extensions;
  PhraseProgress progress;
  Tokens apart;  // in ascending order: tokens of phrases, which are ranked on their own
};

Parent parent_of(const StepInput& input, std::int64_t rank) {
  const Live& live = input.live[static_cast<std::size_t>(rank)];
  Parent parent{.rank = rank, .sum = live.sum, .extensions = {}, .progress = {}, .apart = {}};
  bool may_end = input.step > input.min_length;
  if (!input.own.phrases.empty()) {
    parent.progress = phrase_progress(live.hypothesis.tokens, input.own.phrases);
    may_end = may_end && parent.progress.complete;
    for (const Phrase& phrase : input.own.phrases) {
      for (const Tokens& way : phrase) parent.apart.insert(parent.apart.end(), way.begin(), way.end());
    }
    std::sort(parent.apart.begin(), parent.apart.end());
    parent.apart.erase(std::unique(parent.apart.begin(), parent.apart.end()), parent.apart.end());
  }
  parent.extensions = extensions_of(live.hypothesis, input.rules, input.own, may_end);
  return parent;
}

Candidate candidate_of(const StepInput& input, const Parent& parent, std::int32_t token) {
  const float value = input.rows.row(parent.rank)[token];
  const Tokens& repeated = parent.extensions.repeated;
  double term = static_cast<double>(value);
  if (!repeated.empty() && std::binary_search(repeated.begin(), repeated.end(), token)) {
    term *= input.rules.options.repetition_penalty;
  }
  return {.sum = parent.sum + term, .term = term, .parent = parent.rank, .value = value, .token = token};
}

// The plain tokens of a row: most values are only compared with the worst candidate so far, so a whole row costs one
// pass and about `limit` ln(vocabulary / limit) insertions.
void scan(const StepInput& input, const Parent& parent, std::size_t limit, std::vector<Candidate>& best) {
  const std::span<const float> row(input.rows.row(parent.rank), static_cast<std::size_t>(input.rows.columns));
  const Extensions& extensions = parent.extensions;
  const auto next = [&](std::int64_t begin) {
    const bool full = best.size() == limit;
    return kernels::first_above(row, begin, full ? hopeless(best.back(), parent.rank, parent.sum) : kNothing);
  };
  for (std::int64_t i = next(0); i < std::ssize(row); i = next(i + 1)) {
    const float value = row[static_cast<std::size_t>(i)];
    check_value(value, i, input);
    const auto token = static_cast<std::int32_t>(i);
    if (input.rules.suppressed[static_cast<std::size_t>(i)] != 0) continue;
    if (token == input.rules.options.eos && !extensions.may_end) continue;
    if (!extensions.plain(token) || std::binary_search(parent.apart.begin(), parent.apart.end(), token)) continue;
    const double term = static_cast<double>(value);
    const Candidate candidate{
        .sum = parent.sum + term, .term = term, .parent = parent.rank, .value = value, .token = token};
    if (worthy(best, limit, candidate) && text_permits(extensions, token, input.rules)) insert(best, limit, candidate);
  }
}

// Tokens that the scan leaves out.
template <class Take>
void each_of(const StepInput& input, const Parent& parent, const Tokens& tokens, const Take& take) {
  for (const std::int32_t token : tokens) {
    const float value = input.rows.row(parent.rank)[token];
    check_value(value, token, input);
    if (value != kNothing && permitted(parent.extensions, token, input.rules)) {
      take(candidate_of(input, parent, token));
    }
  }
}

// Rule 6: round after round the best candidate of each bank, from the fullest bank down.
std::vector<Candidate> by_banks(std::map<std::int64_t, std::vector<Candidate>, std::greater<>>& banks,
                                std::size_t limit) {
  std::vector<Candidate> result;
  std::size_t longest = 0;
  for (auto& [bank, candidates] : banks) {
    std::sort(candidates.begin(), candidates.end(), better);
    longest = std::max(longest, candidates.size());
  }
  for (std::size_t round = 0; round < longest; ++round) {
    for (const auto& [bank, candidates] : banks) {
      if (round < candidates.size() && result.size() < limit) result.push_back(candidates[round]);
    }
  }
  return result;
}

std::vector<Candidate> ranked_with_phrases(const StepInput& input, std::size_t limit) {
  std::map<std::int64_t, std::vector<Candidate>, std::greater<>> banks;
  for (std::int64_t rank = 0; rank < input.rows.rows; ++rank) {
    const Parent parent = parent_of(input, rank);
    std::vector<Candidate> best;
    scan(input, parent, limit, best);
    const auto take = [&](const Candidate& candidate) {
      if (!worthy(best, limit, candidate)) return;
      insert(best, limit, candidate);
    };
    Tokens repeated;
    std::set_difference(parent.extensions.repeated.begin(), parent.extensions.repeated.end(), parent.apart.begin(),
                        parent.apart.end(), std::back_inserter(repeated));
    each_of(input, parent, repeated, take);
    Tokens tokens = input.live[static_cast<std::size_t>(rank)].hypothesis.tokens;
    tokens.push_back(-1);  // stands for any token that is in no phrase, eos among them
    std::vector<Candidate>& ordinary = banks[phrase_progress(tokens, input.own.phrases).bank];
    ordinary.insert(ordinary.end(), best.begin(), best.end());
    each_of(input, parent, parent.apart, [&](const Candidate& candidate) {
      tokens.back() = candidate.token;
      banks[phrase_progress(tokens, input.own.phrases).bank].push_back(candidate);
    });
  }
  return by_banks(banks, limit);
}

// The one candidate of a step within the prefix.
std::vector<Candidate> forced(const StepInput& input) {
  std::vector<Candidate> result;
  const std::int32_t token = input.own.prefix[static_cast<std::size_t>(input.step - 1)];
  for (std::int64_t rank = 0; rank < input.rows.rows; ++rank) {
    float value = input.rows.row(rank)[token];
    check_value(value, token, input);
    value = std::max(value, kImpossible);
    const double term = static_cast<double>(value);
    const double sum = input.live[static_cast<std::size_t>(rank)].sum + term;
    result.push_back({.sum = sum, .term = term, .parent = rank, .value = value, .token = token});
  }
  return result;
}

bool within_prefix(const StepInput& input) { return input.step <= std::ssize(input.own.prefix); }

// The candidates among which one is drawn, in ascending order of tokens, and their shares.
struct Choice {
  std::vector<Candidate> candidates;
  std::vector<double> shares;
  double total = 0;
};

// Keeps the first `count` in the order of rank.
void keep_best(std::vector<Candidate>& candidates, std::size_t count) {
  if (candidates.size() <= count) return;
  std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count), candidates.end(),
                   better);
  candidates.resize(count);
}

Choice choice_of(const StepInput& input, const Parent& parent) {
  const Sampling& sampling = input.rules.options.sampling;
  Choice choice;
  for (std::int32_t token = 0; token < input.rows.columns; ++token) {
    const float value = input.rows.row(parent.rank)[token];
    check_value(value, token, input);
    if (value == kNothing || !permitted(parent.extensions, token, input.rules)) continue;
    choice.candidates.push_back(candidate_of(input, parent, token));
  }
  if (sampling.top_k > 0) keep_best(choice.candidates, static_cast<std::size_t>(sampling.top_k));
  double highest = -std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : choice.candidates) highest = std::max(highest, candidate.term);
  const auto share = [&](const Candidate& candidate) {
    return std::exp((candidate.term - highest) / sampling.temperature);
  };
  if (sampling.top_p < 1) {
    std::sort(choice.candidates.begin(), choice.candidates.end(), better);
    double total = 0;
    for (const Candidate& candidate : choice.candidates) total += share(candidate);
    double sum = 0;
    std::size_t count = 0;
    while (count < choice.candidates.size() && (count == 0 || sum < sampling.top_p * total)) {
      sum += share(choice.candidates[count++]);
    }
    choice.candidates.resize(count);
  }
  std::sort(choice.candidates.begin(), choice.candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
  for (const Candidate& candidate : choice.candidates) {
    choice.shares.push_back(share(candidate));
    choice.total += choice.shares.back();
  }
  return choice;
}

// The candidate that goes on with `way`, whose first token is permitted.
Draw writing(const StepInput& input, const Parent& parent, const Tokens& way) {
  return {.candidate = candidate_of(input, parent, way.front()), .rest = Tokens(way.begin() + 1, way.end())};
}

// Whether `way` can be gone on with.
bool can_write(const StepInput& input, const Parent& parent, const Tokens& way) {
  const float value = input.rows.row(parent.rank)[way.front()];
  check_value(value, way.front(), input);
  return value != kNothing && permitted(parent.extensions, way.front(), input.rules);
}

// Of what is missing, the way whose next token has the greatest term (of equals the first); empty when none can be gone
// on with.
Tokens way_to_write(const StepInput& input, const Parent& parent) {
  const Tokens& tokens = input.live[static_cast<std::size_t>(parent.rank)].hypothesis.tokens;
  Tokens best;
  double greatest = -std::numeric_limits<double>::infinity();
  for (const Tokens& way : missing_ways(tokens, input.own.phrases)) {
    if (!can_write(input, parent, way)) continue;
    const double term = candidate_of(input, parent, way.front()).term;
    if (term > greatest) {
      greatest = term;
      best = way;
    }
  }
  return best;
}

// What one hypothesis goes on with; nothing when nothing is permitted.
std::optional<Draw> draw_of(const StepInput& input, std::int64_t rank) {
  Parent parent = parent_of(input, rank);
  const Live& live = input.live[static_cast<std::size_t>(rank)];
  if (!live.rest.empty() && can_write(input, parent, live.rest)) return writing(input, parent, live.rest);
  const bool complete = input.own.phrases.empty() || parent.progress.complete;
  Tokens instead;  // of the end
  if (!complete) {
    instead = way_to_write(input, parent);
    const bool late = input.max_length - input.step <= parent.progress.missing;
    if (late && !instead.empty()) return writing(input, parent, instead);
    parent.extensions.may_end = !instead.empty() && input.step > input.min_length;
  }
  const Choice choice = choice_of(input, parent);
  if (choice.candidates.empty()) return std::nullopt;
  base::Random random(base::combine(input.rules.options.sampling.seed, input.own.seed, live.number, input.step));
  double rest = random.uniform() * choice.total;
  std::size_t i = 0;
  while (i + 1 < choice.candidates.size() && rest >= choice.shares[i]) rest -= choice.shares[i++];
  if (!complete && choice.candidates[i].token == input.rules.options.eos) return writing(input, parent, instead);
  return Draw{.candidate = choice.candidates[i], .rest = {}};
}

}  // namespace

std::vector<Candidate> ranked(const StepInput& input) {
  if (within_prefix(input)) return forced(input);
  const auto limit = static_cast<std::size_t>(2 * input.rules.options.beam_size);
  if (!input.own.phrases.empty()) return ranked_with_phrases(input, limit);
  std::vector<Candidate> best;
  for (std::int64_t rank = 0; rank < input.rows.rows; ++rank) {
    const Parent parent = parent_of(input, rank);
    scan(input, parent, limit, best);
    each_of(input, parent, parent.extensions.repeated, [&](const Candidate& candidate) {
      if (worthy(best, limit, candidate)) insert(best, limit, candidate);
    });
  }
  return best;
}

std::vector<Draw> drawn(const StepInput& input) {
  std::vector<Draw> result;
  if (within_prefix(input)) {
    for (const Candidate& candidate : forced(input)) result.push_back({.candidate = candidate, .rest = {}});
    return result;
  }
  for (std::int64_t rank = 0; rank < input.rows.rows; ++rank) {
    if (std::optional<Draw> draw = draw_of(input, rank)) result.push_back(std::move(*draw));
  }
  return result;
}

}  // namespace zhuyi::infer
