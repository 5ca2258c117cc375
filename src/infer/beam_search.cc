#include "infer/beam_search.h"

#include <utility>

#include "base/error.h"

namespace zhuyi::infer {
namespace {

// Enough for products to run at full speed; the scores of 32,000 tokens are then 4 MB and stay in a cache.
constexpr std::int64_t kRowsAtATime = 32;

}  // namespace

void BeamSearch::join(std::int64_t sentence, std::int64_t source_length, std::shared_ptr<const SearchRules> rules,
                      SentenceOptions own) {
  base::check(rules->vocabulary == scorer_.vocabulary(), "beam_search: options for {} tokens, a model with {}",
              rules->vocabulary, scorer_.vocabulary());
  base::check(searches_.empty() || searches_.back().sentence() < sentence,
              "beam_search: sentence {} joins after sentence {}", sentence,
              searches_.empty() ? -1 : searches_.back().sentence());
  searches_.emplace_back(sentence, source_length, std::move(rules), std::move(own));
}

BeamSearch::Rows BeamSearch::next_rows(std::size_t search, std::int64_t begin) {
  std::int64_t end = begin;
  while (search < searches_.size() && end - begin < kRowsAtATime) end += searches_[search++].rows();
  const std::int64_t vocabulary = scorer_.vocabulary();
  const kernels::ConstMatrix<float> values = scorer_.log_probabilities(begin, end);
  base::check_kind(values.rows == end - begin && values.columns == vocabulary && values.column_stride == 1,
                   base::ErrorKind::internal,
                   "beam_search: the scorer gave [{}, {}] with column stride {}, expected [{}, {}] with stride 1",
                   values.rows, values.columns, values.column_stride, end - begin, vocabulary);
  return {begin, end, values};
}

std::vector<BeamSearch::Answer> BeamSearch::step() {
  std::vector<Answer> answers;
  std::vector<HypothesisStep> rows;
  for (const SentenceSearch& search : searches_) search.ask(rows);
  if (rows.empty()) return answers;
  scorer_.step(rows);
  const auto attention = [&](std::int64_t row) { return scorer_.attention(row); };
  std::vector<SentenceSearch> going_on;
  std::int64_t row = 0;
  Rows scores;
  for (std::size_t i = 0; i < searches_.size(); ++i) {
    SentenceSearch& search = searches_[i];
    const std::int64_t count = search.rows();
    if (row == scores.end) scores = next_rows(i, row);
    search.advance(scores.values.block(row - scores.begin, 0, count, scores.values.columns), row, attention);
    row += count;
    if (search.done()) {
      scorer_.forget(search.sentence());
      answers.push_back({search.sentence(), std::move(search).answer()});
    } else {
      going_on.push_back(std::move(search));
    }
  }
  searches_ = std::move(going_on);
  return answers;
}

std::vector<std::vector<Hypothesis>> beam_search(Scorer& scorer, std::span<const std::int64_t> source_lengths,
                                                 const SearchOptions& options, std::span<const SentenceOptions> own) {
  base::check(own.empty() || own.size() == source_lengths.size(), "beam_search: {} sentences, options of {}",
              source_lengths.size(), own.size());
  const auto rules = std::make_shared<const SearchRules>(options, scorer.vocabulary());
  BeamSearch search(scorer);
  for (std::size_t i = 0; i < source_lengths.size(); ++i) {
    search.join(static_cast<std::int64_t>(i), source_lengths[i], rules, own.empty() ? SentenceOptions{} : own[i]);
  }
  std::vector<std::vector<Hypothesis>> answers(source_lengths.size());
  while (search.sentences() > 0) {
    for (BeamSearch::Answer& answer : search.step()) {
      answers[static_cast<std::size_t>(answer.sentence)] = std::move(answer.hypotheses);
    }
  }
  return answers;
}

}  // namespace zhuyi::infer
