#pragma once
// Which tokens may follow a hypothesis, and what they add to its sum, where that is not what the model's row says.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "infer/hypothesis.h"
#include "infer/search_options.h"

namespace zhuyi::infer {

// Known before the step is scored: a function of the hypothesis' tokens alone.
struct Extensions {
  bool may_end = true;
  std::vector<std::int32_t> forbidden;  // in ascending order, besides the suppressed ones
  std::vector<std::int32_t> repeated;   // in ascending order: those whose term has the repetition penalty
  std::string tail;                     // the end of the text so far, where texts are banned

  // Whether a token is neither forbidden nor repeated.
  bool plain(std::int32_t token) const;
};

Extensions extensions_of(const Hypothesis& hypothesis, const SearchRules& rules, const SentenceOptions& own,
                         bool may_end);

// Whether no banned text would end within the text of `token`, put after the hypothesis.
bool text_permits(const Extensions& extensions, std::int32_t token, const SearchRules& rules);

// Whether a token may follow, by every rule.
bool permitted(const Extensions& extensions, std::int32_t token, const SearchRules& rules);

// How far a sequence of tokens is with the phrases that must occur.
struct PhraseProgress {
  bool complete = false;     // every one occurs
  std::int64_t bank = 0;     // sum over phrases: the tokens of its longest way if it occurs, else how many tokens of a
                             // way, from its beginning, the sequence ends with
  std::int64_t missing = 0;  // sum over the phrases that do not occur: the tokens of its longest way
};

PhraseProgress phrase_progress(std::span<const std::int32_t> tokens, const std::vector<Phrase>& phrases);

// For each way of each phrase that does not occur, in their order, what is left of it: the way without as many tokens,
// from its beginning and not all, as the sequence ends with.
std::vector<std::vector<std::int32_t>> missing_ways(std::span<const std::int32_t> tokens,
                                                    const std::vector<Phrase>& phrases);

}  // namespace zhuyi::infer
