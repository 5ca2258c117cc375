#pragma once
// BLEU (Papineni, Roukos, Ward, Zhu, 2002) with one reference, equal to sacreBLEU 2 (Post, 2018) to the last digit
// printed.

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "metrics/tokenize.h"

namespace zhuyi::metrics {

struct BleuScore {
  double score = 0;                       // 0 to 100
  std::array<double, 4> precisions{};     // of the 1- to 4-grams, in percent, after smoothing
  std::array<std::int64_t, 4> matches{};  // n-grams shared with the reference, clipped
  std::array<std::int64_t, 4> totals{};   // n-grams of the hypotheses
  double brevity_penalty = 0;             // 0 to 1
  std::int64_t hypothesis_length = 0;     // tokens
  std::int64_t reference_length = 0;      // tokens
  std::string signature;                  // how it was computed, as sacreBLEU writes it, ending in kSignatureVersion
};

// BLEU of a corpus: hypothesis i against reference i, n-grams summed over all sentences, exponential smoothing (Chen,
// Cherry, 2014, method 3), all four orders always counted. Throws invalid_argument when the counts differ or are 0.
BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      Tokenization tokenization);

// BLEU of one sentence, over the orders its hypothesis is long enough for ("effective order"), smoothed alike.
BleuScore sentence_bleu(const std::string& hypothesis, const std::string& reference, Tokenization tokenization);

// The line that sacreBLEU prints: "BLEU|signature = 12.3 45.6/23.4/12.3/6.7 (BP = ... ratio = ... hyp_len = ... ref_len
// =
// ...)", the score with `width` >= 0 digits behind the point.
std::string format(const BleuScore& score, int width = 1);

}  // namespace zhuyi::metrics
