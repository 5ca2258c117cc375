#pragma once
// A file of pairs and how often it is used beside others.

#include <filesystem>
#include <string>
#include <vector>

#include "data/pair.h"

namespace zhuyi::data {

struct WeightedFile {
  std::filesystem::path path;
  double weight = 1;  // how often each of its pairs is seen in an epoch, on average
};

// "pairs.tsv:2.5" or "pairs.tsv" (weight 1); a file whose name ends like a weight is taken as it stands. Throws
// invalid_argument for a weight that is not above 0 or out of proportion.
WeightedFile weighted_file(const std::string& text);

// The pairs of all files, one file after the other (read_tsv); a pair's weight is that of its line times that of its
// file.
std::vector<SentencePair> read_weighted(const std::vector<WeightedFile>& files);

}  // namespace zhuyi::data
