#include "data/weighted_file.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "data/pairs.h"

namespace zhuyi::data {

WeightedFile weighted_file(const std::string& text) {
  constexpr double kMost = 1000;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || std::filesystem::exists(text)) return {text, 1};
  double weight = 0;
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data() + colon + 1, end, weight);
  if (code != std::errc() || rest != end) return {text, 1};
  base::check(weight > 0 && weight <= kMost, "{}: the weight is {}, expected more than 0 and at most {}", text, weight,
              kMost);
  return {text.substr(0, colon), weight};
}

std::vector<SentencePair> read_weighted(const std::vector<WeightedFile>& files) {
  std::vector<SentencePair> all;
  for (const WeightedFile& file : files) {
    std::vector<SentencePair> pairs = read_tsv(file.path);
    for (SentencePair& pair : pairs) pair.weight *= file.weight;
    all.insert(all.end(), std::make_move_iterator(pairs.begin()), std::make_move_iterator(pairs.end()));
  }
  return all;
}

}  // namespace zhuyi::data
