#pragma once
// Where each sentence of a batch begins: the tokens of all sentences lie one after another, without padding.

#include <cstdint>
#include <vector>

#include "base/error.h"

namespace zhuyi::tensor {

// Sentence i is rows [begin(i), end(i)).
class Segments {
 public:
  Segments() = default;

  // Adds a sentence of `length` >= 0 tokens.
  void append(std::int64_t length) {
    base::check(length >= 0, "segments: a length of {}, expected 0 or more", length);
    offsets_.push_back(offsets_.back() + length);
  }

  std::int64_t count() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  std::int64_t tokens() const { return offsets_.back(); }
  std::int64_t begin(std::int64_t i) const { return offsets_[static_cast<std::size_t>(i)]; }
  std::int64_t end(std::int64_t i) const { return offsets_[static_cast<std::size_t>(i) + 1]; }
  std::int64_t length(std::int64_t i) const { return end(i) - begin(i); }

 private:
  std::vector<std::int64_t> offsets_ = {0};
};

}  // namespace zhuyi::tensor
