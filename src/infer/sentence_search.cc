#include "infer/sentence_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "infer/candidates.h"

namespace zhuyi::infer {
namespace {

constexpr double kLeastCoverage = 1e-10;  // keeps the logarithm of a source token that nothing looked at finite

void check_own(const SentenceOptions& own, const SearchRules& rules, std::int64_t sentence) {
  const auto check_token = [&](std::int32_t id, const char* what) {
    base::check(id >= 0 && id < rules.vocabulary && id != rules.options.eos,
                "beam_search: sentence {}: token {} in {}, expected one in [0, {}) but eos", sentence, id, what,
                rules.vocabulary);
  };
  for (const std::int32_t id : own.prefix) check_token(id, "the prefix");
  for (const Phrase& phrase : own.phrases) {
    base::check(!phrase.empty(), "beam_search: sentence {}: a phrase that must occur has no way to occur", sentence);
    for (const std::vector<std::int32_t>& way : phrase) {
      base::check(!way.empty(), "beam_search: sentence {}: a phrase that must occur is empty", sentence);
      for (const std::int32_t id : way) check_token(id, "a phrase");
    }
  }
}

}  // namespace

SentenceSearch::SentenceSearch(std::int64_t sentence, std::int64_t source_length,
                               std::shared_ptr<const SearchRules> rules, SentenceOptions own)
    : sentence_(sentence),
      rules_(std::move(rules)),
      own_(std::move(own)),
      max_length_(std::max(maximum_length(rules_->options, source_length), std::ssize(own_.prefix) + 1)),
      min_length_(minimum_length(rules_->options, source_length)) {
  check_own(own_, *rules_, sentence);
  const SearchOptions& options = rules_->options;
  live_.resize(options.sampling.on ? static_cast<std::size_t>(options.n_best) : 1);
  for (std::size_t i = 0; i < live_.size(); ++i) live_[i].number = static_cast<std::int64_t>(i);
  if (options.coverage_penalty > 0) {
    for (Live& live : live_) live.coverage.assign(static_cast<std::size_t>(source_length), 0);
  }
}

void SentenceSearch::ask(std::vector<HypothesisStep>& steps) const {
  for (const Live& live : live_) {
    const std::vector<std::int32_t>& tokens = live.hypothesis.tokens;
    steps.push_back(
        {.sentence = sentence_, .parent = live.row, .token = tokens.empty() ? rules_->options.bos : tokens.back()});
  }
}

double SentenceSearch::score_of(const Live& live, std::int64_t n) const {
  if (n == 0) return 0;
  const SearchOptions& options = rules_->options;
  double score = live.sum / length_penalty(options.length_penalty, options.alpha, n);
  if (options.coverage_penalty > 0) {
    double covered = 0;
    for (const float sum : live.coverage) covered += std::log(std::clamp<double>(sum, kLeastCoverage, 1));
    score += options.coverage_penalty * covered;
  }
  return score;
}

// The hypothesis of a candidate; eos is not among its tokens.
Live SentenceSearch::extended(const Candidate& candidate, std::int64_t first_row) const {
  Live result = live_[static_cast<std::size_t>(candidate.parent)];
  Hypothesis& hypothesis = result.hypothesis;
  hypothesis.finished = candidate.token == rules_->options.eos;
  if (!hypothesis.finished) hypothesis.tokens.push_back(candidate.token);
  hypothesis.token_log_probabilities.push_back(candidate.value);
  hypothesis.log_probability += static_cast<double>(candidate.value);
  result.sum = candidate.sum;
  result.row = first_row + candidate.parent;
  hypothesis.score = score_of(result, std::ssize(hypothesis.token_log_probabilities));
  return result;
}

// Keeps the n_best of the finished; of equal scores the one that came first stays ahead.
void SentenceSearch::finish(Hypothesis hypothesis) {
  ++finished_count_;
  const auto position = std::upper_bound(finished_.begin(), finished_.end(), hypothesis,
                                         [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  finished_.insert(position, std::move(hypothesis));
  if (std::ssize(finished_) > rules_->options.n_best) finished_.pop_back();
}

// Rule 4 after a step. The bound: sums only fall and the penalty only grows with the length, so no descendant of a live
// hypothesis scores above the best live sum over the penalty of the maximum length.
bool SentenceSearch::ended() const {
  const SearchOptions& options = rules_->options;
  if (live_.empty() || step_ >= max_length_) return true;
  if (options.sampling.on) return false;
  if (options.stop == Stop::first_finished || options.beam_size == 1) return finished_count_ >= 1;
  if (options.stop == Stop::beam_finished) {
    return static_cast<double>(finished_count_) >= options.patience * static_cast<double>(options.beam_size);
  }
  if (std::ssize(finished_) < options.n_best) return false;
  double best = live_.front().sum;
  for (const Live& live : live_) best = std::max(best, live.sum);
  return finished_.back().score >= best / length_penalty(options.length_penalty, options.alpha, max_length_);
}

void SentenceSearch::advance(const kernels::ConstMatrix<float>& rows, std::int64_t first_row,
                             const std::function<std::span<const float>(std::int64_t)>& attention) {
  ++step_;
  const SearchOptions& options = rules_->options;
  const StepInput input{.rules = *rules_,
                        .own = own_,
                        .live = live_,
                        .rows = rows,
                        .sentence = sentence_,
                        .step = step_,
                        .min_length = min_length_,
                        .max_length = max_length_};
  std::vector<std::vector<std::int32_t>> rests;  // of drawn candidates
  std::vector<Candidate> candidates;
  if (options.sampling.on) {
    for (Draw& draw : drawn(input)) {
      candidates.push_back(draw.candidate);
      rests.push_back(std::move(draw.rest));
    }
  } else {
    candidates = ranked(input);
  }
  if (candidates.empty()) {  // nothing is permitted: the live ones stay as they are
    done_ = true;
    return;
  }
  for (std::size_t i = 0; i < live_.size(); ++i) {
    std::vector<float>& coverage = live_[i].coverage;
    if (coverage.empty()) continue;
    const std::span<const float> added = attention(first_row + static_cast<std::int64_t>(i));
    base::check_kind(added.size() == coverage.size(), base::ErrorKind::internal,
                     "beam_search: attention over {} tokens, expected {}", added.size(), coverage.size());
    for (std::size_t s = 0; s < coverage.size(); ++s) coverage[s] += added[s];
  }
  const auto beam = static_cast<std::size_t>(options.sampling.on ? options.n_best : options.beam_size);
  std::vector<Live> live;
  for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
    if (candidates[rank].token == options.eos) {
      if (rank < beam) finish(extended(candidates[rank], first_row).hypothesis);
    } else if (live.size() < beam) {
      live.push_back(extended(candidates[rank], first_row));
      if (options.sampling.on) live.back().rest = std::move(rests[rank]);
    }
  }
  live_ = std::move(live);
  done_ = ended();
}

std::vector<Hypothesis> SentenceSearch::answer() && {
  std::vector<Hypothesis> result = std::move(finished_);
  for (Live& live : live_) {
    if (std::ssize(result) >= rules_->options.n_best) break;
    result.push_back(std::move(live.hypothesis));
  }
  return result;
}

}  // namespace zhuyi::infer
