#pragma once
// The tokenisations BLEU counts words in: 13a, zh, char, intl and none, each by the rules of sacreBLEU 2 (Post, 2018).

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zhuyi::metrics {

// How a sentence is cut into the tokens that BLEU compares.
enum class Tokenization {
  mteval_13a,     // "13a": punctuation and symbols of ASCII apart, numbers whole (mteval-v13a, NIST 2009)
  zh,             // "zh": each Chinese character and full-width mark apart, the rest as 13a
  character,      // "char": each character apart
  international,  // "intl": Unicode punctuation and symbols apart, numbers whole (mteval-v14, NIST); characters newer
                  // than ICU's Unicode tables are neither, as in a sacreBLEU over tables of the same age
  none,           // "none": at spaces only, for text that has been tokenised already
};

// The version that signatures end with ("version:zhuyi-0.1.0", where sacreBLEU names its own). It is raised whenever a
// score of the same text could change, so that equal signatures mean comparable scores.
inline constexpr std::string_view kSignatureVersion = "zhuyi-0.1.0";

// The short name as sacreBLEU's signature has it: 13a, zh, char, intl or none.
std::string_view tokenization_name(Tokenization tokenization);

// The tokenisation of that short name. Throws invalid_argument, naming those known.
Tokenization tokenization_named(std::string_view name);

// The tokens of one sentence, in UTF-8. Ill-formed UTF-8 counts as U+FFFD. No token is empty or holds white space.
std::vector<std::string> tokenize(std::string_view sentence, Tokenization tokenization);

// zh where the references are mostly Han, 13a elsewhere. A Han character weighs as much as a whole run of other
// letters, so names in Latin letters do not outweigh the Chinese text around them; a text without letters gets 13a.
Tokenization default_tokenization(std::span<const std::string> references);

// White space as Python's str.split() knows it, which sacreBLEU splits and strips with: Unicode's spaces and line ends,
// and the four information separators U+001C to U+001F, but no zero-width character.
bool is_space(char32_t character);

// The parts of `text` between runs of white space, none empty; they point into `text`.
std::vector<std::u32string_view> split_at_spaces(std::u32string_view text);

}  // namespace zhuyi::metrics
