#pragma once
// Beam search over a Scorer: the best output sequences of many sentences at once, each found as if it were alone.
//
// The rule for one sentence, with a beam of B, sums of log-probabilities in f64, and eos counted in every length n:
// 1. Step t extends every live hypothesis by every permitted token; the best 2B by sum are ranked
//    (ties: lower rank of the parent, then the more probable last token, then the lower token id).
// 2. Of the first B ranked, those that end in eos are finished, with n = t; an eos ranked lower is dropped.
// 3. The first B ranked that do not end in eos are the live ones of step t + 1 (at t = 1 the empty one is alone).
// 4. It ends after the maximum number of steps, when nothing is live, when no live one has a permitted extension (they
//    stay as they are), or as `Stop` says; with B = 1 at the first eos.
// 5. Answer: the finished by score = sum / penalty(n) (ties: the earlier step, then rank); if these are fewer than
//    n_best, the last live ones follow in their order, marked unfinished. Eos is never forced.

#include <cstdint>
#include <span>
#include <vector>

#include "infer/scorer.h"

namespace zhuyi::infer {

// What the sum of the log-probabilities of n tokens is divided by, so that long and short hypotheses compare.
enum class LengthPenalty {
  gnmt,   // ((5 + n) / 6)^alpha: Wu et al., 2016, equation 14; "Attention Is All You Need", 6.1
  power,  // n^alpha: Marian, CTranslate2, fairseq, Hugging Face
  none,   // 1
};

// When the search of a sentence ends before its maximum length.
enum class Stop {
  bound,          // once no live hypothesis can still beat the n_best finished ones: never changes the answer
  beam_finished,  // once beam_size hypotheses have finished: sooner, and may miss a better one
};

struct SearchOptions {
  std::int32_t bos = -1;                               // the token fed first; must be given
  std::int32_t eos = -1;                               // the token that ends a hypothesis; must be given
  std::int64_t beam_size = 4;                          // hypotheses kept alive; 1 is greedy search (paper 6.1: 4)
  LengthPenalty length_penalty = LengthPenalty::gnmt;  // how scores are made comparable
  double alpha = 0.6;                                  // the penalty's exponent, 0 or more (paper 6.1: 0.6)
  std::int64_t n_best = 1;                             // hypotheses to return, 1 to beam_size
  double max_length_factor = 1.0;                      // at most factor * source length + extra tokens, eos included:
  std::int64_t max_length_extra = 50;                  //   input length + 50 (paper 6.1)
  std::int64_t max_length = 1024;                      // nor more than this many tokens, whatever the source's length
  std::int64_t min_length = 0;                         // tokens before eos, as far as the maximum length allows
  std::vector<std::int32_t> suppressed = {};           // tokens that are never produced (unk, padding, ...)
  Stop stop = Stop::bound;                             // when to end early
};

// One output sequence.
struct Hypothesis {
  std::vector<std::int32_t> tokens;            // without bos and eos
  double score = 0;                            // log_probability / length_penalty(n); 0 when n is 0
  double log_probability = 0;                  // the sum of token_log_probabilities
  std::vector<float> token_log_probabilities;  // [n]: one for each token, and one for eos when finished
  bool finished = false;                       // eos was reached; if not, the maximum length cut it short
};

// The divisor of the sum of log-probabilities for n >= 1 tokens, eos included. Throws invalid_argument for n < 1.
double length_penalty(LengthPenalty form, double alpha, std::int64_t n);

// The largest number of tokens, eos included, of an output for a source of this many tokens: at least 1.
std::int64_t maximum_length(const SearchOptions& options, std::int64_t source_length);

// For each of the scorer's sentences the best hypotheses, best first: at least one, at most n_best (fewer only when so
// few were found). `source_lengths` [sentences] in tokens gives the maximum lengths. The answer for a sentence is a
// function of its own log-probabilities, its length and the options, bit for bit, whatever else is in the call.
// Throws invalid_argument for options out of range, bad_model when the scorer gives nan or a probability above 1, and
// internal when its matrix has the wrong shape.
std::vector<std::vector<Hypothesis>> beam_search(Scorer& scorer, std::span<const std::int64_t> source_lengths,
                                                 const SearchOptions& options);

}  // namespace zhuyi::infer
