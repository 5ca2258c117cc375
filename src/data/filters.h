#pragma once
// What is taken out of parallel text, and why: each pair is tidied and then kept or dropped for exactly one reason.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "data/pair.h"

namespace zhuyi::data {

// Reasons to drop a pair, in the order in which they are looked for.
enum class Reason { bad_text, empty, same, too_long, script, ratio, duplicate, held_out };
inline constexpr std::size_t kReasons = 8;

// A count for each Reason.
using ReasonCounts = std::array<std::int64_t, kReasons>;

// What a reason means, for a table.
std::string_view describe(Reason reason);

// The script that the target must show.
enum class Script { any, han };

struct FilterOptions {
  std::int64_t max_length = 400;       // characters on either side
  double max_ratio = 3;                // how many times as long one side may be as the other: drop_reason()
  Script target_script = Script::han;  // the target must have one character of it
};

// `text` in NFC on one line: every run of white space (ends of lines, tabs, no-break and ideographic spaces included)
// is one space, none at the ends; zero-width spaces and byte order marks are gone. Empty when nothing is left, none
// when the text is not UTF-8 or has control characters.
std::optional<std::string> tidy(std::string_view text);

// The reason to drop a pair of tidied texts, looked at by itself; none to keep it. Lengths are compared as
// longer > max_ratio * shorter + 20, where a character counts 1 and one of Chinese, Japanese or Korean 3, about as many
// as it stands for in English: then even texts of few characters pass.
std::optional<Reason> drop_reason(std::string_view source, std::string_view target, const FilterOptions& options);

// Tidies pairs and drops those with a reason to, counting them. Of equal pairs (source and target), also from different
// calls, the first is kept; several targets of one source are. A document's name is tidied too.
class PairFilter {
 public:
  // Throws invalid_argument for a length below 1 or a ratio below 1.
  explicit PairFilter(const FilterOptions& options);

  // The pairs that stay, in their order.
  std::vector<SentencePair> keep(std::vector<SentencePair> pairs);

  const ReasonCounts& dropped() const { return dropped_; }

 private:
  std::optional<Reason> judge(SentencePair& pair);

  FilterOptions options_;
  std::unordered_set<std::string> seen_;
  ReasonCounts dropped_{};
};

// True when most pairs have Han characters on the source side only: the files were given in the wrong order.
bool looks_swapped(const std::vector<SentencePair>& pairs);

}  // namespace zhuyi::data
