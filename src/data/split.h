#pragma once
// A corpus in three parts: training, validation and test, whole documents at a time and without the same sentences.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/pair.h"

namespace zhuyi::data {

struct SplitOptions {
  double valid = 0;  // share of all pairs, below 0.5; 0: no such part
  double test = 0;
  std::string
      documents{};  // an extended regular expression (POSIX) found in the names that may be held out; empty: all
  std::uint64_t seed = 1;
};

// "valid=2%,test=2%" (either may be left out, in any order) as shares, the other fields left as they are. Throws
// invalid_argument.
SplitOptions parse_split(std::string_view text, SplitOptions options = {});

struct Split {
  std::vector<SentencePair> train;
  std::vector<SentencePair> valid;
  std::vector<SentencePair> test;
  std::int64_t leaked =
      0;  // pairs left out: of training those whose source stands in a held-out part, of valid in test
};

// Deals out whole documents: in the order of a hash of their names and the seed, those that fit go to the test part
// until it has its share of the pairs, then to the validation part; all others train. So the same corpus gives the same
// parts wherever the pairs stand, and a part is never larger than its share. Pairs keep their order. Throws
// invalid_argument for a bad regular expression or a share, and bad_file when a part with a share stays empty because
// every document that may be held out is larger.
Split split_corpus(std::vector<SentencePair> pairs, const SplitOptions& options);

}  // namespace zhuyi::data
