#pragma once
// Pairs from files larger than memory, in an order that is a function of the seed.

#include <cstdint>
#include <vector>

#include "data/pair.h"
#include "data/weighted_file.h"

namespace zhuyi::data {

// The files are cut into blocks of neighbouring lines. Each epoch shuffles all blocks anew and gives them out in parts
// of many blocks; whoever takes a part shuffles the pairs in it. Only where the blocks lie is kept in memory: some 40
// bytes for 256 lines.
class ShuffledText {
 public:
  // Reads the files once, to find their lines and to know them again. A part holds about `pairs` pairs. Throws
  // not_found, bad_file for an empty or a gzipped file (it cannot be read from the middle), invalid_argument.
  ShuffledText(std::vector<WeightedFile> files, std::int64_t pairs, std::uint64_t seed);

  std::int64_t lines() const { return lines_; }
  // A number that changes when a byte of the files does (FNV-1a).
  std::uint64_t fingerprint() const { return fingerprint_; }

  // How many parts an epoch has: a function of (seed, epoch).
  std::int64_t parts(std::int64_t epoch) const;
  // The pairs of a part, in the order of the files; a file of weight 2.5 gives each block twice in an epoch and half of
  // them once more. Weights of pairs are those of their lines. Throws bad_file, naming the line.
  std::vector<SentencePair> read(std::int64_t epoch, std::int64_t part) const;

 private:
  struct Block {
    std::int64_t file = 0;
    std::int64_t begin = 0;  // bytes
    std::int64_t end = 0;
    std::int64_t first_line = 0;  // from 1
  };

  void index(std::int64_t file);
  // The blocks of an epoch in their order, as numbers.
  std::vector<std::int64_t> order(std::int64_t epoch) const;

  std::vector<WeightedFile> files_;
  std::vector<Block> blocks_;
  std::int64_t blocks_a_part_;
  std::uint64_t seed_;
  std::int64_t lines_ = 0;
  std::uint64_t fingerprint_ = 0xcbf29ce484222325u;
};

}  // namespace zhuyi::data
