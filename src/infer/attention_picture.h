#pragma once
// The encoder-decoder attention of one sentence (paper 3.2.3), as numbers and as a page to look at.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/model_file.h"

namespace zhuyi::infer {

// The weight that each target token, when it is predicted, gives each source token, in every layer and head.
struct CrossAttention {
  std::vector<std::string> source;  // pieces, the end token's included
  std::vector<std::string> target;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::vector<float> weights;  // [layer][head][target][source]; a row over the source sums to 1

  float at(std::int64_t layer, std::int64_t head, std::int64_t target_index, std::int64_t source_index) const;
  // The mean over the heads of a layer.
  float mean(std::int64_t layer, std::int64_t target_index, std::int64_t source_index) const;
};

// From a full pass over ids that end with eos.
CrossAttention cross_attention(const formats::Model& model, std::span<const std::int32_t> source,
                               std::span<const std::int32_t> target);

// A standalone HTML page with inline SVG, without scripts and without anything from outside: a grid for the mean over
// the heads of the last layer, source pieces on top, target pieces at the left, darker for more weight, and a small
// grid for each layer and head. Numbers show when the pointer rests on a cell.
std::string attention_html(const CrossAttention& attention, const std::string& title);

}  // namespace zhuyi::infer
