#include "infer/extensions.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace zhuyi::infer {
namespace {

using Tokens = std::vector<std::int32_t>;

bool has(const Tokens& sorted, std::int32_t token) { return std::binary_search(sorted.begin(), sorted.end(), token); }

void sort_unique(Tokens& tokens) {
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

// The tokens that would make n tokens in a row occur for the second time.
void forbid_ngrams(const Tokens& tokens, std::int64_t n, Tokens& forbidden) {
  const std::int64_t count = std::ssize(tokens);
  for (std::int64_t begin = 0; begin + n <= count; ++begin) {
    const auto first = tokens.begin() + begin;
    if (std::equal(first, first + (n - 1), tokens.end() - (n - 1))) forbidden.push_back(first[n - 1]);
  }
}

// The tokens with which a block of at most kLongestBlock tokens would stand more than `most` times in a row.
void forbid_repeats(const Tokens& tokens, std::int64_t most, Tokens& forbidden) {
  const std::int64_t count = std::ssize(tokens);
  if (most > count) return;
  for (std::int64_t length = 1; length <= kLongestBlock && length * (most + 1) - 1 <= count; ++length) {
    // All but a token of the last `most` blocks are there, and equal the tokens a block before them.
    const auto run = tokens.end() - (length * most - 1);
    if (std::equal(run, tokens.end(), run - length))
      forbidden.push_back(tokens[tokens.size() - static_cast<std::size_t>(length)]);
  }
}

// The last tokens of banned sequences that are there but for these.
void forbid_sequences(const Tokens& tokens, const std::vector<Tokens>& banned, Tokens& forbidden) {
  for (const Tokens& sequence : banned) {
    const std::ptrdiff_t before = std::ssize(sequence) - 1;
    if (before <= std::ssize(tokens) && std::equal(sequence.begin(), sequence.end() - 1, tokens.end() - before)) {
      forbidden.push_back(sequence.back());
    }
  }
}

// At least so many bytes of the end of the hypothesis' text, if it has so many.
std::string tail_of(const Tokens& tokens, const std::vector<std::string>& texts, std::size_t bytes) {
  std::string tail;
  for (auto token = tokens.rbegin(); token != tokens.rend() && tail.size() < bytes; ++token) {
    tail.insert(0, texts[static_cast<std::size_t>(*token)]);
  }
  return tail;
}

std::int64_t longest_way(const Phrase& phrase) {
  std::size_t longest = 0;
  for (const Tokens& way : phrase) longest = std::max(longest, way.size());
  return static_cast<std::int64_t>(longest);
}

// How many tokens of `way`, from its beginning and not all, `tokens` ends with.
std::int64_t overlap(std::span<const std::int32_t> tokens, const Tokens& way) {
  for (std::size_t count = std::min(tokens.size(), way.size() - 1); count > 0; --count) {
    const auto end = tokens.last(count);
    if (std::equal(end.begin(), end.end(), way.begin())) return static_cast<std::int64_t>(count);
  }
  return 0;
}

// Whether a phrase occurs in one of its ways.
bool occurs(std::span<const std::int32_t> tokens, const Phrase& phrase) {
  return std::any_of(phrase.begin(), phrase.end(), [&](const Tokens& way) {
    return std::search(tokens.begin(), tokens.end(), way.begin(), way.end()) != tokens.end();
  });
}

}  // namespace

bool Extensions::plain(std::int32_t token) const { return !has(forbidden, token) && !has(repeated, token); }

Extensions extensions_of(const Hypothesis& hypothesis, const SearchRules& rules, const SentenceOptions& own,
                         bool may_end) {
  const SearchOptions& options = rules.options;
  Extensions result;
  result.may_end = may_end;
  if (options.no_repeat_ngram > 0) forbid_ngrams(hypothesis.tokens, options.no_repeat_ngram, result.forbidden);
  if (options.max_repeats > 0) {
    forbid_repeats(hypothesis.tokens, std::max(options.max_repeats, own.repeats), result.forbidden);
  }
  forbid_sequences(hypothesis.tokens, options.banned, result.forbidden);
  sort_unique(result.forbidden);
  if (options.repetition_penalty != 1) {
    result.repeated = hypothesis.tokens;
    sort_unique(result.repeated);
  }
  if (!options.banned_texts.empty()) {
    std::size_t longest = 0;
    for (const std::string& text : options.banned_texts) longest = std::max(longest, text.size());
    result.tail = tail_of(hypothesis.tokens, *options.token_texts, longest - 1);
  }
  return result;
}

bool text_permits(const Extensions& extensions, std::int32_t token, const SearchRules& rules) {
  if (rules.options.banned_texts.empty() || token == rules.options.eos) return true;
  const std::string& added = (*rules.options.token_texts)[static_cast<std::size_t>(token)];
  for (const std::string& text : rules.options.banned_texts) {
    const std::string_view tail = extensions.tail;
    const std::size_t kept = std::min(tail.size(), text.size() - 1);
    if ((std::string(tail.substr(tail.size() - kept)) + added).find(text) != std::string::npos) return false;
  }
  return true;
}

bool permitted(const Extensions& extensions, std::int32_t token, const SearchRules& rules) {
  if (token == rules.options.eos) return extensions.may_end;
  return rules.suppressed[static_cast<std::size_t>(token)] == 0 && !has(extensions.forbidden, token) &&
         text_permits(extensions, token, rules);
}

PhraseProgress phrase_progress(std::span<const std::int32_t> tokens, const std::vector<Phrase>& phrases) {
  PhraseProgress result{.complete = true};
  for (const Phrase& phrase : phrases) {
    if (occurs(tokens, phrase)) {
      result.bank += longest_way(phrase);
      continue;
    }
    result.complete = false;
    result.missing += longest_way(phrase);
    std::int64_t begun = 0;
    for (const Tokens& way : phrase) begun = std::max(begun, overlap(tokens, way));
    result.bank += begun;
  }
  return result;
}

std::vector<Tokens> missing_ways(std::span<const std::int32_t> tokens, const std::vector<Phrase>& phrases) {
  std::vector<Tokens> result;
  for (const Phrase& phrase : phrases) {
    if (occurs(tokens, phrase)) continue;
    for (const Tokens& way : phrase) result.emplace_back(way.begin() + overlap(tokens, way), way.end());
  }
  return result;
}

}  // namespace zhuyi::infer
