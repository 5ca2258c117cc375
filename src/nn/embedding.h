#pragma once
// Tokens to vectors and back (paper 3.4), and where they stand in the sentence (paper 3.5).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "nn/config.h"
#include "nn/linear.h"

namespace zhuyi::nn {

// One row of sinusoids, [1, d_model], for position `position` >= 0.
// interleaved: PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(same) (paper 3.5).
// halves: the same sines, then the same cosines. halves_marian: as halves with exponent i / (d/2 - 1).
std::vector<double> sinusoid(Positions layout, std::int64_t position, std::int64_t d_model);

// Embedding(ids) sqrt(d_model) + position, then dropout: the input of a stack.
class Embedding {
 public:
  // `table` [vocabulary, d_model]; `learned` [max_positions, d_model], or nullptr for the other layouts.
  Embedding(WeightPtr table, ConstParameterPtr learned, const Config& config);

  // positions[i] is where token i stands in its sentence, from 0. Throws invalid_argument when learned positions do not
  // reach.
  Var operator()(std::span<const std::int32_t> ids, std::span<const std::int32_t> positions, Run& run) const;

 private:
  tensor::Tensor sinusoids(std::span<const std::int32_t> positions, tensor::DType dtype) const;

  WeightPtr table_;
  std::optional<ops::Weight> learned_;
  Positions layout_;
  std::int64_t d_model_;
  double dropout_;
  std::vector<double> first_positions_;  // sinusoids of the first positions; later ones are computed when asked for
};

}  // namespace zhuyi::nn
