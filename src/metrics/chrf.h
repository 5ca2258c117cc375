#pragma once
// chrF (Popović, 2015) and chrF++ (Popović, 2017) with one reference, equal to sacreBLEU 2 (Post, 2018) to the last
// digit printed.

#include <cstdint>
#include <span>
#include <string>

namespace zhuyi::metrics {

struct ChrfOptions {
  std::int64_t character_order = 6;  // character n-grams up to this length, white space left out
  std::int64_t word_order = 0;       // word n-grams up to this length: 0 is chrF, 2 is chrF++
  std::int64_t beta = 2;             // recall weighs beta times as much as precision
};

struct ChrfScore {
  double score = 0;       // 0 to 100
  std::string name;       // "chrF2", "chrF2++": beta, and a plus for each word order
  std::string signature;  // how it was computed, as sacreBLEU writes it, ending in kSignatureVersion
};

// chrF of a corpus: hypothesis i against reference i, n-grams summed over all sentences, precision and recall averaged
// over the orders that both sides have n-grams of ("effective order"). Throws invalid_argument when the counts differ
// or are 0, and for options out of range (an order below 0, none at all, beta below 1).
ChrfScore corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const ChrfOptions& options = {});

// chrF of one sentence; throws as corpus_chrf does.
ChrfScore sentence_chrf(const std::string& hypothesis, const std::string& reference, const ChrfOptions& options = {});

// The line that sacreBLEU prints: "chrF2|signature = 12.3", the score with `width` >= 0 digits behind the point.
std::string format(const ChrfScore& score, int width = 1);

}  // namespace zhuyi::metrics
