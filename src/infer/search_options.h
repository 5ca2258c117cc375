#pragma once
// What a search may be asked for: of all sentences alike, and of one.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace zhuyi::infer {

class Shortlist;

// What the sum of the log-probabilities of n tokens is divided by, so that long and short hypotheses compare.
enum class LengthPenalty {
  gnmt,   // ((5 + n) / 6)^alpha: Wu et al., 2016, equation 14; "Attention Is All You Need", 6.1
  power,  // n^alpha: Marian, CTranslate2, fairseq, Hugging Face
  none,   // 1
};

// When the search of a sentence ends before its maximum length.
enum class Stop {
  bound,           // once no live hypothesis can still beat the n_best finished ones: never changes the answer
  beam_finished,   // once patience * beam_size hypotheses have finished: sooner, and may miss a better one
  first_finished,  // once one has finished: soonest
};

// Drawing tokens instead of searching for the best ones. Each of the n_best answers is drawn on its own, and beam_size
// is not used. The draw is a function of the seed, the sentence's own seed, the number of the answer and the step. A
// phrase that must occur and has not been drawn is written where the draw would end.
struct Sampling {
  bool on = false;
  double temperature = 1;  // tokens are drawn in proportion to p^(1 / temperature); above 0
  std::int64_t top_k = 0;  // among so many most probable ones (ties: lower ids); 0: all (Fan et al., 2018)
  double top_p = 1;        // and of these among the fewest, most probable first, whose shares sum to this (Holtzman et
                           // al., 2020); above 0, at most 1
  std::uint64_t seed = 1;
};

struct SearchOptions {
  std::int32_t bos = -1;                               // the token fed first; must be given
  std::int32_t eos = -1;                               // the token that ends a hypothesis; must be given
  std::int64_t beam_size = 4;                          // hypotheses kept alive; 1 is greedy search (paper 6.1: 4)
  std::int64_t n_best = 1;                             // hypotheses to return, 1 to beam_size
  LengthPenalty length_penalty = LengthPenalty::gnmt;  // how scores are made comparable
  double alpha = 0.6;                                  // the penalty's exponent, 0 or more (paper 6.1: 0.6)
  double coverage_penalty = 0;                         // beta of Wu et al., 2016, equation 14; 0 or more
  double repetition_penalty = 1;                       // a token of the hypothesis counts so many times its logarithm
                                                       //   (Keskar et al., 2019); above 0, 1: as it is
  std::int64_t no_repeat_ngram = 0;                    // no n tokens in a row occur twice; 0: they may
  std::int64_t max_repeats = 8;                        // no block of at most kLongestBlock tokens stands more often in
                                                       //   a row, unless one does in the source; 0: it may
  double max_length_factor = 1.0;                      // at most factor * source length + extra tokens, eos included:
  std::int64_t max_length_extra = 50;                  //   input length + 50 (paper 6.1)
  std::int64_t max_length = 1024;                      // nor more than this many tokens, whatever the source's length
  std::int64_t min_length = 0;                         // tokens before eos, as far as the maximum length allows,
  double min_length_factor = 0;                        //   and at least factor * source length (eos not counted)
  std::vector<std::int32_t> suppressed = {};           // tokens that are never produced (unk, padding, ...)
  std::vector<std::vector<std::int32_t>> banned = {};  // sequences of tokens that never occur
  std::vector<std::string> banned_texts = {};          // texts that never occur, whatever their pieces, and
  std::shared_ptr<const std::vector<std::string>> token_texts = nullptr;  // [vocabulary] what each token adds to a text
  Stop stop = Stop::bound;                                                // when to end early
  double patience = 1;                                                    // of beam_finished (Kasai et al., 2022)
  Sampling sampling = {};
  std::shared_ptr<const Shortlist> shortlist = nullptr;  // if given, a sentence uses only these tokens and those asked
                                                         //   of it, and probabilities are over these
};

// A phrase that must occur, in any of these ways (sequences of tokens, none empty).
using Phrase = std::vector<std::vector<std::int32_t>>;

// Blocks of so many tokens at most are counted as repeated. Loops of models are shorter.
inline constexpr std::int64_t kLongestBlock = 8;

// How often in a row a block of at most kLongestBlock tokens stands in a sequence, at most: 1 where none is repeated, 0
// for no token.
std::int64_t most_repeats(std::span<const std::int32_t> tokens);

// What may be asked of one sentence.
struct SentenceOptions {
  std::vector<std::int32_t> prefix = {};  // the tokens that every answer begins with
  std::vector<Phrase> phrases = {};       // what must occur before eos
  std::uint64_t seed = 0;                 // of sampling
  std::int64_t repeats = 0;               // most_repeats of its source: a block may stand so often in a row,
                                          //   whatever max_repeats says

  bool operator==(const SentenceOptions&) const = default;
};

// The divisor of the sum of log-probabilities for n >= 1 tokens, eos included. Throws invalid_argument for n < 1.
double length_penalty(LengthPenalty form, double alpha, std::int64_t n);

// The largest number of tokens, eos included, of an output for a source of this many tokens: at least 1.
std::int64_t maximum_length(const SearchOptions& options, std::int64_t source_length);

// The smallest number of tokens before eos for a source of this many tokens, its eos included: below the maximum.
std::int64_t minimum_length(const SearchOptions& options, std::int64_t source_length);

// Options that were checked against a vocabulary. Many sentences share one.
struct SearchRules {
  // Throws invalid_argument for options out of range, naming the option and the range.
  SearchRules(SearchOptions options, std::int64_t vocabulary);

  SearchOptions options;
  std::int64_t vocabulary;
  std::vector<std::uint8_t> suppressed;  // [vocabulary] 1 for the tokens that are never produced
};

}  // namespace zhuyi::infer
