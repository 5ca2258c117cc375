#pragma once
// Beam search over a Scorer: the best output sequences of many sentences at once, each found as if it were alone.
//
// The rule for one sentence, with a beam of B. A token's term is its log-probability; with a repetition penalty r, r
// times that for a token that the hypothesis has already. Sums of terms are in f64, and eos counts in every length n.
// 1. Step t extends every live hypothesis by every permitted token; the best 2B by sum are ranked
//    (ties: lower rank of the parent, then the greater term, then the lower token id).
// 2. Of the first B ranked, those that end in eos are finished, with n = t; an eos ranked lower is dropped.
// 3. The first B ranked that do not end in eos are the live ones of step t + 1 (at t = 1 the empty one is alone).
// 4. It ends after the maximum number of steps, when nothing is live, when no live one has a permitted extension (they
//    stay as they are), or as `Stop` says; with B = 1 at the first eos.
// 5. Answer: the finished by score = sum / penalty(n) + coverage (ties: the earlier step, then rank); if these are
//    fewer than n_best, the last live ones follow in their order, marked unfinished. Eos is never forced. Coverage is
//    beta * sum over source tokens of log(min(1, the attention that the n steps gave it)); Wu et al., 2016, 7.
// Permitted is a token that is not suppressed, completes no banned sequence, no banned text, no second occurrence of
// n tokens in a row and no block that stands more often in a row than max_repeats, or repeats if that is more; eos only
// after the minimum length, and when all phrases that must occur do.
// 6. With phrases that must occur, candidates are put into banks by how far they are (PhraseProgress), and rank by
//    rounds: the best of each bank, from the fullest bank down, then the second best of each, and so on (after Post and
//    Vilar, 2018).
// 7. Within a prefix the only permitted extension is its next token, whatever else is asked. With sampling each of
//    n_best hypotheses goes on by one token drawn among the permitted ones.
// 8. With phrases that must occur, a drawn hypothesis may draw its end before they do; then it goes on with one of
// those
//    that are missing (the way whose next token has the greatest term), to that way's end, and draws again. It also
//    does so as soon as what is missing would else not fit before the maximum length. So a draw that has the phrases by
//    itself is what the model gives, and the others differ from such a draw from their first end on.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "infer/hypothesis.h"
#include "infer/scorer.h"
#include "infer/search_options.h"
#include "infer/sentence_search.h"

namespace zhuyi::infer {

// The searches of some sentences, a step at a time. Between two steps sentences may join; those that are done leave at
// once. The answer for a sentence is a function of its own log-probabilities, its length and the options, bit for bit,
// whoever else is there.
class BeamSearch {
 public:
  // The scorer must outlive it.
  explicit BeamSearch(Scorer& scorer) : scorer_(scorer) {}

  // A sentence that the scorer knows, with a number above those that joined before; its length in tokens gives the
  // maximum length. Throws invalid_argument for what is asked of it and cannot be.
  void join(std::int64_t sentence, std::int64_t source_length, std::shared_ptr<const SearchRules> rules,
            SentenceOptions own = {});

  // Sentences that are not done.
  std::int64_t sentences() const { return static_cast<std::int64_t>(searches_.size()); }

  // The best hypotheses of a sentence, best first: at least one, at most n_best (fewer only when so few were found).
  struct Answer {
    std::int64_t sentence = 0;
    std::vector<Hypothesis> hypotheses;
  };

  // One step of all; gives the sentences that are done with it. Throws bad_model when the scorer gives nan or a
  // probability above 1, and internal when its matrix has the wrong shape.
  std::vector<Answer> step();

 private:
  // Rows [begin, end) of the scorer's latest step.
  struct Rows {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    kernels::ConstMatrix<float> values;
  };
  // Those of some searches, from the one with this index on, whose first row is `begin`.
  Rows next_rows(std::size_t search, std::int64_t begin);

  Scorer& scorer_;
  std::vector<SentenceSearch> searches_;
};

// The answers for the scorer's sentences 0, 1, ..., all at once. `source_lengths` [sentences] in tokens. What is asked
// of each stands in `own`, which is empty or [sentences]. Throws invalid_argument for options out of range, and what
// step() throws.
std::vector<std::vector<Hypothesis>> beam_search(Scorer& scorer, std::span<const std::int64_t> source_lengths,
                                                 const SearchOptions& options,
                                                 std::span<const SentenceOptions> own = {});

}  // namespace zhuyi::infer
