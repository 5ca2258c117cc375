#pragma once
// Slow, obvious searches to compare the beam search with: they keep everything, sort everything, and ask every rule of
// whole sequences.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "infer/toy_search.h"

namespace zhuyi::infer {

inline double penalty(const SearchOptions& options, std::size_t n) {
  const double length = static_cast<double>(n);
  if (options.length_penalty == LengthPenalty::gnmt) return std::pow((5 + length) / 6, options.alpha);
  return options.length_penalty == LengthPenalty::power ? std::pow(length, options.alpha) : 1.0;
}

inline bool contains(const Tokens& tokens, std::int32_t token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

// How often `part` occurs.
template <class Sequence>
std::int64_t occurrences(const Sequence& whole, const Sequence& part) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i + part.size() <= whole.size(); ++i) {
    count += std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(i)) ? 1 : 0;
  }
  return count;
}

// A hypothesis of the slow search with all that orders it. Its tokens include eos.
struct Slow {
  Tokens tokens;
  std::vector<float> values;
  double sum = 0;
  double term = 0;
  std::size_t parent = 0;
  std::int64_t number = 0;
  Tokens rest;  // of a phrase that is being written
};

// What the slow search is asked for.
struct SlowTask {
  Table table;
  std::int64_t max_length = 1;
  SearchOptions options;
  SentenceOptions own = {};
  std::int64_t source_length = 0;  // for coverage and the relative minimum length
};

inline Hypothesis as_hypothesis(const Slow& slow, const SlowTask& task) {
  Hypothesis result{.tokens = slow.tokens, .token_log_probabilities = slow.values};
  for (const float value : slow.values) result.log_probability += static_cast<double>(value);
  if (!slow.tokens.empty()) result.score = slow.sum / penalty(task.options, slow.tokens.size());
  if (task.options.coverage_penalty > 0 && !slow.tokens.empty()) {
    std::vector<float> covered(static_cast<std::size_t>(task.source_length), 0);
    for (std::size_t n = 0; n < slow.tokens.size(); ++n) {
      const Tokens before(slow.tokens.begin(), slow.tokens.begin() + static_cast<std::ptrdiff_t>(n));
      const std::vector<float> attention = toy_attention(task.source_length, 0, before);
      for (std::size_t i = 0; i < covered.size(); ++i) covered[i] += attention[i];
    }
    for (const float sum : covered) {
      result.score += task.options.coverage_penalty * std::log(std::min(1.0, static_cast<double>(sum)));
    }
  }
  result.finished = contains(slow.tokens, kEos);
  if (result.finished) result.tokens.pop_back();
  return result;
}

inline std::string text_of(const Tokens& tokens, const SearchOptions& options) {
  std::string text;
  for (const std::int32_t token : tokens) text += (*options.token_texts)[static_cast<std::size_t>(token)];
  return text;
}

// Whether a phrase occurs in one of its ways.
inline bool occurs(const Tokens& tokens, const Phrase& phrase) {
  return std::any_of(phrase.begin(), phrase.end(), [&](const Tokens& way) { return occurrences(tokens, way) > 0; });
}

// The bank of rule 6.
inline std::int64_t bank_of(const Tokens& tokens, const std::vector<Phrase>& phrases) {
  std::int64_t bank = 0;
  for (const Phrase& phrase : phrases) {
    std::int64_t longest = 0;
    std::int64_t begun = 0;
    for (const Tokens& way : phrase) {
      longest = std::max(longest, std::ssize(way));
      for (std::ptrdiff_t n = 1; n < std::ssize(way) && n <= std::ssize(tokens); ++n) {
        if (std::equal(way.begin(), way.begin() + n, tokens.end() - n)) begun = std::max<std::int64_t>(begun, n);
      }
    }
    bank += occurs(tokens, phrase) ? longest : begun;
  }
  return bank;
}

// Whether `token` may come after `before`, asked of the whole sequences.
inline bool slow_permitted(const Tokens& before, std::int32_t token, const SlowTask& task) {
  const SearchOptions& options = task.options;
  const std::int64_t step = std::ssize(before) + 1;
  if (step <= std::ssize(task.own.prefix)) return token == task.own.prefix[before.size()];
  if (contains(options.suppressed, token)) return false;
  if (token == kEos) {
    const auto relative = static_cast<std::int64_t>(
        options.min_length_factor * static_cast<double>(std::max<std::int64_t>(0, task.source_length - 1)));
    if (step - 1 < std::min(std::max(options.min_length, relative), task.max_length - 1)) return false;
    return std::all_of(task.own.phrases.begin(), task.own.phrases.end(),
                       [&](const Phrase& phrase) { return occurs(before, phrase); });
  }
  Tokens after = before;
  after.push_back(token);
  if (const std::int64_t n = options.no_repeat_ngram; n > 0 && std::ssize(after) >= n) {
    if (occurrences(after, Tokens(after.end() - n, after.end())) > 1) return false;
  }
  if (options.max_repeats > 0) {
    for (std::ptrdiff_t length = 1; length <= 8; ++length) {
      std::int64_t blocks = 1;  // that end the sequence and equal its last tokens
      const auto last = after.end() - std::min(length, std::ssize(after));
      while ((blocks + 1) * length <= std::ssize(after) && std::equal(last, after.end(), last - blocks * length))
        ++blocks;
      if (blocks > std::max(options.max_repeats, task.own.repeats)) return false;
    }
  }
  for (const Tokens& sequence : options.banned) {
    if (occurrences(after, sequence) > occurrences(before, sequence)) return false;
  }
  for (const std::string& text : options.banned_texts) {
    if (occurrences(text_of(after, options), text) > occurrences(text_of(before, options), text)) return false;
  }
  return true;
}

// The extensions of one hypothesis by every permitted token, in ascending order of tokens.
inline std::vector<Slow> slow_extensions(const Slow& live, std::size_t rank, const SlowTask& task) {
  std::vector<Slow> result;
  const std::vector<float> row = task.table(0, live.tokens);
  const bool forced = live.tokens.size() < task.own.prefix.size();
  for (std::int32_t token = 0; token < static_cast<std::int32_t>(row.size()); ++token) {
    const float value =
        forced ? std::max(row[static_cast<std::size_t>(token)], -1e9F) : row[static_cast<std::size_t>(token)];
    if (value == kMinusInfinity || !slow_permitted(live.tokens, token, task)) continue;
    Slow& next = result.emplace_back(live);
    next.term = static_cast<double>(value);
    if (!forced && contains(live.tokens, token)) next.term *= task.options.repetition_penalty;
    next.tokens.push_back(token);
    next.values.push_back(value);
    next.sum += next.term;
    next.parent = rank;
  }
  return result;
}

inline bool ranks_before(const Slow& a, const Slow& b) {
  return std::tuple(-a.sum, a.parent, -a.term, a.tokens.back()) <
         std::tuple(-b.sum, b.parent, -b.term, b.tokens.back());
}

// Rules 1 and 6: everything in order of rank.
inline std::vector<Slow> in_order(std::vector<Slow> all, const std::vector<Phrase>& phrases) {
  std::sort(all.begin(), all.end(), ranks_before);
  if (phrases.empty()) return all;
  std::vector<Slow> result;
  while (!all.empty()) {
    std::set<std::int64_t> taken;  // banks of this round
    std::vector<std::pair<std::int64_t, Slow>> round;
    std::vector<Slow> rest;
    for (Slow& slow : all) {
      const std::int64_t bank = bank_of(slow.tokens, phrases);
      if (taken.insert(bank).second) {
        round.emplace_back(bank, std::move(slow));
      } else {
        rest.push_back(std::move(slow));
      }
    }
    std::sort(round.begin(), round.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [bank, slow] : round) result.push_back(std::move(slow));
    all = std::move(rest);
  }
  return result;
}

// One of the extensions, drawn as Sampling says.
inline Slow draw(std::vector<Slow> all, std::int64_t step, const SlowTask& task) {
  const Sampling& sampling = task.options.sampling;
  std::sort(all.begin(), all.end(), ranks_before);
  if (sampling.top_k > 0 && std::ssize(all) > sampling.top_k) all.resize(static_cast<std::size_t>(sampling.top_k));
  double highest = all[0].term;
  const auto share = [&](const Slow& slow) { return std::exp((slow.term - highest) / sampling.temperature); };
  double total = 0;
  for (const Slow& slow : all) total += share(slow);
  std::vector<Slow> nucleus;
  double sum = 0;
  for (const Slow& slow : all) {
    if (sampling.top_p < 1 && !nucleus.empty() && sum >= sampling.top_p * total) break;
    nucleus.push_back(slow);
    sum += share(slow);
  }
  std::sort(nucleus.begin(), nucleus.end(),
            [](const Slow& a, const Slow& b) { return a.tokens.back() < b.tokens.back(); });
  double mass = 0;
  for (const Slow& slow : nucleus) mass += share(slow);
  double rest = mass * base::Random(base::combine(sampling.seed, task.own.seed, all[0].number, step)).uniform();
  for (const Slow& slow : nucleus) {
    if (rest < share(slow)) return slow;
    rest -= share(slow);
  }
  return nucleus.back();
}

// The one of the extensions that goes on with a phrase that does not occur, with the rest of that phrase; null for
// none.
inline std::optional<Slow> slow_writing(const Slow& live, const std::vector<Slow>& all, const SlowTask& task) {
  std::optional<Slow> best;
  for (const Phrase& phrase : task.own.phrases) {
    if (occurs(live.tokens, phrase)) continue;
    for (const Tokens& way : phrase) {
      std::ptrdiff_t begun = 0;
      for (std::ptrdiff_t n = 1; n < std::ssize(way) && n <= std::ssize(live.tokens); ++n) {
        if (std::equal(way.begin(), way.begin() + n, live.tokens.end() - n)) begun = n;
      }
      for (const Slow& next : all) {
        if (next.tokens.back() != way[static_cast<std::size_t>(begun)]) continue;
        if (best && next.term <= best->term) continue;
        best = next;
        best->rest = Tokens(way.begin() + begun + 1, way.end());
      }
    }
  }
  return best;
}

// Rules 7 and 8: what one hypothesis goes on with; null when nothing is permitted.
inline std::optional<Slow> slow_drawn(const Slow& live, std::size_t rank, std::int64_t step, const SlowTask& task) {
  SlowTask free = task;  // in which the end is permitted whether phrases occur or not
  free.own.phrases.clear();
  std::vector<Slow> all = slow_extensions(live, rank, free);
  for (Slow& next : all) next.rest.clear();
  if (all.empty() || live.tokens.size() < task.own.prefix.size())
    return all.empty() ? std::nullopt : std::optional(all[0]);
  for (Slow& next : all) {
    if (live.rest.empty() || next.tokens.back() != live.rest[0]) continue;
    next.rest = Tokens(live.rest.begin() + 1, live.rest.end());
    return next;
  }
  std::int64_t missing = 0;  // tokens
  for (const Phrase& phrase : task.own.phrases) {
    std::size_t longest = 0;
    for (const Tokens& way : phrase) longest = std::max(longest, way.size());
    if (!occurs(live.tokens, phrase)) missing += static_cast<std::int64_t>(longest);
  }
  const std::optional<Slow> instead = slow_writing(live, all, task);
  const std::int64_t max_length = std::max(task.max_length, std::ssize(task.own.prefix) + 1);
  if (missing > 0 && instead && step + missing >= max_length) return instead;
  if (missing > 0 && !instead) std::erase_if(all, [](const Slow& next) { return next.tokens.back() == kEos; });
  if (all.empty()) return std::nullopt;
  Slow next = draw(std::move(all), step, task);
  return missing > 0 && next.tokens.back() == kEos ? instead : next;
}

inline std::vector<Slow> slow_candidates(const std::vector<Slow>& live, std::int64_t step, const SlowTask& task) {
  std::vector<Slow> all;
  for (std::size_t rank = 0; rank < live.size(); ++rank) {
    if (task.options.sampling.on) {
      if (const std::optional<Slow> next = slow_drawn(live[rank], rank, step, task)) all.push_back(*next);
      continue;
    }
    const std::vector<Slow> extensions = slow_extensions(live[rank], rank, task);
    all.insert(all.end(), extensions.begin(), extensions.end());
  }
  return task.options.sampling.on ? all : in_order(std::move(all), task.own.phrases);
}

inline bool slow_end(std::size_t finished, const SearchOptions& options) {
  if (options.sampling.on || finished == 0) return false;
  if (options.beam_size == 1 || options.stop == Stop::first_finished) return true;
  return options.stop == Stop::beam_finished &&
         static_cast<double>(finished) >= options.patience * static_cast<double>(options.beam_size);
}

// The rule of beam_search.h, sorting everything. It knows no bound: with Stop::bound it goes on to the maximum length.
inline std::vector<Hypothesis> slow_search(const SlowTask& task) {
  const SearchOptions& options = task.options;
  const auto beam = static_cast<std::size_t>(options.sampling.on ? options.n_best : options.beam_size);
  std::vector<Slow> live(options.sampling.on ? beam : 1);
  for (std::size_t i = 0; i < live.size(); ++i) live[i].number = static_cast<std::int64_t>(i);
  std::vector<Hypothesis> finished;
  const std::int64_t max_length = std::max(task.max_length, std::ssize(task.own.prefix) + 1);
  for (std::int64_t step = 1; step <= max_length && !live.empty(); ++step) {
    const std::vector<Slow> all = slow_candidates(live, step, task);
    if (all.empty()) break;
    live.clear();
    for (std::size_t rank = 0; rank < std::min(all.size(), 2 * beam); ++rank) {
      const bool ends = all[rank].tokens.back() == kEos;
      if (ends && rank < beam) finished.push_back(as_hypothesis(all[rank], task));
      if (!ends && live.size() < beam) live.push_back(all[rank]);
    }
    if (slow_end(finished.size(), options)) break;
  }
  std::stable_sort(finished.begin(), finished.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  for (const Slow& slow : live) finished.push_back(as_hypothesis(slow, task));
  finished.resize(std::min(finished.size(), static_cast<std::size_t>(options.n_best)));
  return finished;
}

// Every finished sequence of at most `max_length` tokens, best first.
inline std::vector<Hypothesis> exhaustive(const Table& table, std::int64_t max_length, const SearchOptions& options) {
  std::vector<Hypothesis> result;
  const std::function<void(const Slow&)> visit = [&](const Slow& slow) {
    const std::vector<float> row = table(0, slow.tokens);
    for (std::int32_t token = 0; token < static_cast<std::int32_t>(row.size()); ++token) {
      Slow next = slow;
      next.tokens.push_back(token);
      next.values.push_back(row[static_cast<std::size_t>(token)]);
      next.sum += static_cast<double>(next.values.back());
      if (token == kEos) {
        result.push_back(as_hypothesis(next, {table, max_length, options}));
      } else if (std::ssize(next.tokens) < max_length) {
        visit(next);
      }
    }
  };
  visit({});
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return result;
}

}  // namespace zhuyi::infer
