#pragma once
// Counting the n-grams that a hypothesis shares with its reference, which BLEU does over words and chrF over
// characters.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace zhuyi::metrics {

// The n-grams of one order n.
struct NgramCounts {
  std::int64_t hypothesis = 0;  // n-grams of the hypothesis
  std::int64_t reference = 0;   // n-grams of the reference
  std::int64_t matches = 0;     // n-grams of the hypothesis that the reference has, each at most as often as there

  NgramCounts& operator+=(const NgramCounts& other);
};

// The counts of the orders 1 to `orders` over two sequences of symbols; equal symbols stand for equal words or
// characters. Throws invalid_argument for a negative number of orders.
std::vector<NgramCounts> count_ngrams(std::span<const std::uint32_t> hypothesis,
                                      std::span<const std::uint32_t> reference, std::int64_t orders);

// Two sequences of symbols for count_ngrams.
struct Symbols {
  std::vector<std::uint32_t> hypothesis;
  std::vector<std::uint32_t> reference;
};

// The words as symbols: a number for each different word.
template <class Word>
Symbols number_words(const std::vector<Word>& hypothesis, const std::vector<Word>& reference) {
  std::unordered_map<Word, std::uint32_t> numbers;
  const auto number = [&](const std::vector<Word>& words) {
    std::vector<std::uint32_t> symbols;
    symbols.reserve(words.size());
    for (const Word& word : words) {
      symbols.push_back(numbers.try_emplace(word, static_cast<std::uint32_t>(numbers.size())).first->second);
    }
    return symbols;
  };
  Symbols symbols;
  symbols.hypothesis = number(hypothesis);
  symbols.reference = number(reference);
  return symbols;
}

}  // namespace zhuyi::metrics
