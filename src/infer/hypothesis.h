#pragma once
// One output sequence of a search.

#include <cstdint>
#include <vector>

namespace zhuyi::infer {

struct Hypothesis {
  std::vector<std::int32_t> tokens;            // without bos and eos
  double score = 0;                            // what the search ranks by in the end; 0 when n is 0
  double log_probability = 0;                  // the sum of token_log_probabilities
  std::vector<float> token_log_probabilities;  // [n]: one for each token, and one for eos when finished
  bool finished = false;                       // eos was reached; if not, the maximum length cut it short

  bool operator==(const Hypothesis&) const = default;
};

// A hypothesis that goes on.
struct Live {
  Hypothesis hypothesis;
  double sum = 0;                  // of the terms of its tokens: log_probability, if no penalty changes a term
  std::vector<float> coverage;     // [source tokens] the attention they have had; empty without coverage penalty
  std::int64_t row = -1;           // of the latest step, which it continues; -1 at the beginning
  std::int64_t number = 0;         // which answer it is, when answers are drawn
  std::vector<std::int32_t> rest;  // what is left of a phrase that is being written, when answers are drawn
};

// An extension of a live hypothesis by one token.
struct Candidate {
  double sum = 0;           // of terms, the token's included
  double term = 0;          // what the token adds to the sum
  std::int64_t parent = 0;  // rank of the live hypothesis
  float value = 0;          // log-probability of the token
  std::int32_t token = 0;
};

// The order of candidates: by sum; ties: the lower rank of the parent, then the greater term, then the lower token.
inline bool better(const Candidate& a, const Candidate& b) {
  if (a.sum != b.sum) return a.sum > b.sum;
  if (a.parent != b.parent) return a.parent < b.parent;
  if (a.term != b.term) return a.term > b.term;
  return a.token < b.token;
}

}  // namespace zhuyi::infer
