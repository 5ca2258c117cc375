#include "metrics/chrf.h"

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "metrics/ngrams.h"
#include "metrics/tokenize.h"
#include "text/utf8.h"

namespace zhuyi::metrics {
namespace {

constexpr std::u32string_view kPunctuation = U"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

void check_options(const ChrfOptions& options) {
  base::check(
      options.character_order >= 0 && options.word_order >= 0 && options.character_order + options.word_order > 0,
      "chrF: character order {} and word order {}, expected neither below 0 and one above", options.character_order,
      options.word_order);
  base::check(options.beta >= 1, "chrF: beta {}, expected 1 or more", options.beta);
}

std::vector<std::uint32_t> without_spaces(const std::vector<char32_t>& characters) {
  std::vector<std::uint32_t> result;
  result.reserve(characters.size());
  for (const char32_t character : characters) {
    if (!is_space(character)) result.push_back(character);
  }
  return result;
}

// The words for chrF++: one mark of ASCII punctuation at the end, or else at the beginning, is a word of its own.
std::vector<std::u32string_view> words_of(const std::vector<char32_t>& characters) {
  const auto is_mark = [](char32_t c) { return kPunctuation.find(c) != std::u32string_view::npos; };
  std::vector<std::u32string_view> words;
  for (const std::u32string_view word : split_at_spaces({characters.data(), characters.size()})) {
    const std::size_t cut = word.size() == 1        ? 0
                            : is_mark(word.back())  ? word.size() - 1
                            : is_mark(word.front()) ? 1
                                                    : 0;
    if (cut > 0) words.push_back(word.substr(0, cut));
    words.push_back(word.substr(cut));
  }
  return words;
}

// The counts of the character orders, then of the word orders.
std::vector<NgramCounts> sentence_statistics(const std::string& hypothesis, const std::string& reference,
                                             const ChrfOptions& options) {
  const std::vector<char32_t> hypothesis_text = text::decode_utf8(hypothesis);
  const std::vector<char32_t> reference_text = text::decode_utf8(reference);
  std::vector<NgramCounts> counts =
      count_ngrams(without_spaces(hypothesis_text), without_spaces(reference_text), options.character_order);
  if (options.word_order > 0) {
    const Symbols words = number_words(words_of(hypothesis_text), words_of(reference_text));
    const std::vector<NgramCounts> of_words = count_ngrams(words.hypothesis, words.reference, options.word_order);
    counts.insert(counts.end(), of_words.begin(), of_words.end());
  }
  for (NgramCounts& order : counts) {
    // Where the reference is too short for an order, the hypothesis could not have matched and is not blamed.
    if (order.reference == 0) order.hypothesis = 0;
  }
  return counts;
}

// The F score of averaged precision and recall (Popović, 2015, equation 1), 0 to 100. The operations and their order
// are those of sacreBLEU, for the last digit's sake.
double f_score(const std::vector<NgramCounts>& counts, std::int64_t beta) {
  double precision = 0;
  double recall = 0;
  double orders = 0;
  for (const NgramCounts& order : counts) {
    if (order.hypothesis == 0 || order.reference == 0) continue;
    precision += static_cast<double>(order.matches) / static_cast<double>(order.hypothesis);
    recall += static_cast<double>(order.matches) / static_cast<double>(order.reference);
    orders += 1;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const auto factor = static_cast<double>(beta * beta);
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

ChrfScore score_of(const std::vector<NgramCounts>& counts, const ChrfOptions& options) {
  ChrfScore result;
  result.score = f_score(counts, options.beta);
  result.name = fmt::format("chrF{}{:+<{}}", options.beta, "", options.word_order);
  result.signature = fmt::format("nrefs:1|case:mixed|eff:yes|nc:{}|nw:{}|space:no|version:{}", options.character_order,
                                 options.word_order, kSignatureVersion);
  return result;
}

}  // namespace

ChrfScore corpus_chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
                      const ChrfOptions& options) {
  base::check(hypotheses.size() == references.size(), "corpus_chrf: {} hypotheses, {} references, expected one each",
              hypotheses.size(), references.size());
  base::check(!hypotheses.empty(), "corpus_chrf: no sentence, expected at least one");
  check_options(options);
  std::vector<std::vector<NgramCounts>> statistics(hypotheses.size());
  base::parallel_for(static_cast<std::int64_t>(hypotheses.size()), 64, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      statistics[i] = sentence_statistics(hypotheses[i], references[i], options);
    }
  });
  std::vector<NgramCounts> sum(statistics.front().size());
  for (const std::vector<NgramCounts>& sentence : statistics) {
    for (std::size_t order = 0; order < sum.size(); ++order) sum[order] += sentence[order];
  }
  return score_of(sum, options);
}

ChrfScore sentence_chrf(const std::string& hypothesis, const std::string& reference, const ChrfOptions& options) {
  check_options(options);
  return score_of(sentence_statistics(hypothesis, reference, options), options);
}

std::string format(const ChrfScore& score, int width) {
  base::check(width >= 0, "format: {} digits behind the point, expected 0 or more", width);
  return fmt::format("{}|{} = {:.{}f}", score.name, score.signature, score.score, width);
}

}  // namespace zhuyi::metrics
