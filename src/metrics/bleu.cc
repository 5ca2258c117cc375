#include "metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "metrics/ngrams.h"

namespace zhuyi::metrics {
namespace {

constexpr std::size_t kOrders = 4;

// The sum over sentences of what BLEU is computed from.
struct Statistics {
  std::array<NgramCounts, kOrders> ngrams{};
  std::int64_t hypothesis_length = 0;
  std::int64_t reference_length = 0;
};

Statistics sentence_statistics(const std::string& hypothesis, const std::string& reference, Tokenization tokenization) {
  const Symbols words = number_words(tokenize(hypothesis, tokenization), tokenize(reference, tokenization));
  const std::vector<NgramCounts> counts = count_ngrams(words.hypothesis, words.reference, kOrders);
  Statistics statistics;
  std::copy(counts.begin(), counts.end(), statistics.ngrams.begin());
  statistics.hypothesis_length = static_cast<std::int64_t>(words.hypothesis.size());
  statistics.reference_length = static_cast<std::int64_t>(words.reference.size());
  return statistics;
}

// Papineni et al., 2002, 2.2.2: 1 unless the hypotheses are shorter than the references.
double brevity_penalty(std::int64_t hypothesis_length, std::int64_t reference_length) {
  if (hypothesis_length >= reference_length) return 1;
  if (hypothesis_length == 0) return 0;
  return std::exp(1 - static_cast<double>(reference_length) / static_cast<double>(hypothesis_length));
}

// The score from its statistics. The operations and their order are those of sacreBLEU, for the last digit's sake.
BleuScore score_of(const Statistics& statistics, bool effective_order, Tokenization tokenization) {
  BleuScore result;
  result.hypothesis_length = statistics.hypothesis_length;
  result.reference_length = statistics.reference_length;
  result.brevity_penalty = brevity_penalty(result.hypothesis_length, result.reference_length);
  result.signature = fmt::format("nrefs:1|case:mixed|eff:{}|tok:{}|smooth:exp|version:{}",
                                 effective_order ? "yes" : "no", tokenization_name(tokenization), kSignatureVersion);
  for (std::size_t n = 0; n < kOrders; ++n) {
    result.matches[n] = statistics.ngrams[n].matches;
    result.totals[n] = statistics.ngrams[n].hypothesis;
  }
  if (result.matches[0] == 0) return result;

  double smoothing = 1;
  std::size_t counted = 0;
  for (; counted < kOrders && result.totals[counted] > 0; ++counted) {
    const auto total = static_cast<double>(result.totals[counted]);
    const auto matches = static_cast<double>(result.matches[counted]);
    if (result.matches[counted] == 0) {
      smoothing *= 2;
      result.precisions[counted] = 100 / (smoothing * total);
    } else {
      result.precisions[counted] = 100 * matches / total;
    }
  }
  if (counted < kOrders && !effective_order) return result;
  double logarithms = 0;
  for (std::size_t n = 0; n < counted; ++n) logarithms += std::log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(logarithms / static_cast<double>(counted));
  return result;
}

}  // namespace

BleuScore corpus_bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      Tokenization tokenization) {
  base::check(hypotheses.size() == references.size(), "corpus_bleu: {} hypotheses, {} references, expected one each",
              hypotheses.size(), references.size());
  base::check(!hypotheses.empty(), "corpus_bleu: no sentence, expected at least one");
  std::vector<Statistics> statistics(hypotheses.size());
  base::parallel_for(static_cast<std::int64_t>(hypotheses.size()), 64, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      statistics[i] = sentence_statistics(hypotheses[i], references[i], tokenization);
    }
  });
  Statistics sum;
  for (const Statistics& sentence : statistics) {
    for (std::size_t n = 0; n < kOrders; ++n) sum.ngrams[n] += sentence.ngrams[n];
    sum.hypothesis_length += sentence.hypothesis_length;
    sum.reference_length += sentence.reference_length;
  }
  return score_of(sum, false, tokenization);
}

BleuScore sentence_bleu(const std::string& hypothesis, const std::string& reference, Tokenization tokenization) {
  return score_of(sentence_statistics(hypothesis, reference, tokenization), true, tokenization);
}

std::string format(const BleuScore& score, int width) {
  base::check(width >= 0, "format: {} digits behind the point, expected 0 or more", width);
  const double ratio = score.reference_length == 0
                           ? 0
                           : static_cast<double>(score.hypothesis_length) / static_cast<double>(score.reference_length);
  return fmt::format(
      "BLEU|{} = {:.{}f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
      score.signature, score.score, width, score.precisions[0], score.precisions[1], score.precisions[2],
      score.precisions[3], score.brevity_penalty, ratio, score.hypothesis_length, score.reference_length);
}

}  // namespace zhuyi::metrics
