#pragma once
// The search of one sentence: all that its answer depends on besides the rows that the model gives for it.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "infer/hypothesis.h"
#include "infer/scorer.h"
#include "infer/search_options.h"
#include "kernels/matrix.h"

namespace zhuyi::infer {

class SentenceSearch {
 public:
  // `sentence` is the scorer's number for it; `source_length` in tokens, its eos included. Throws invalid_argument for
  // what is asked of the sentence and cannot be.
  SentenceSearch(std::int64_t sentence, std::int64_t source_length, std::shared_ptr<const SearchRules> rules,
                 SentenceOptions own);

  std::int64_t sentence() const { return sentence_; }
  bool done() const { return done_; }
  // Rows that the next step needs.
  std::int64_t rows() const { return static_cast<std::int64_t>(live_.size()); }
  // Adds them, in the order of the live hypotheses.
  void ask(std::vector<HypothesisStep>& steps) const;

  // One step. `rows` [rows(), vocabulary] are its rows; the first is row `first_row` of the scorer's. attention(row)
  // gives the attention of one of its rows over the source; it is asked only with a coverage penalty.
  void advance(const kernels::ConstMatrix<float>& rows, std::int64_t first_row,
               const std::function<std::span<const float>(std::int64_t)>& attention);

  // Rule 5: the best hypotheses, at least one.
  std::vector<Hypothesis> answer() &&;

 private:
  Live extended(const Candidate& candidate, std::int64_t first_row) const;
  double score_of(const Live& live, std::int64_t n) const;
  void finish(Hypothesis hypothesis);
  bool ended() const;

  std::int64_t sentence_;
  std::shared_ptr<const SearchRules> rules_;
  SentenceOptions own_;
  std::int64_t max_length_;
  std::int64_t min_length_;
  std::int64_t step_ = 0;
  std::vector<Live> live_;            // best first
  std::vector<Hypothesis> finished_;  // best first, no more than n_best
  std::int64_t finished_count_ = 0;   // also those that were not kept
  bool done_ = false;
};

}  // namespace zhuyi::infer
