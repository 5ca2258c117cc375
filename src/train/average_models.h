#pragma once
// Weights that are the mean of several models' weights (paper 6.1).

#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "formats/model_file.h"

namespace zhuyi::train {

// The mean of the blocks that `next` gives one after another until it gives none; each is let go before the next one is
// asked for. Summed in f64 in their order. Throws invalid_argument for none, and for blocks of different shapes.
tensor::Tensor mean_of_blocks(const std::function<std::optional<tensor::Tensor>()>& next);

// The mean of the models in the files (models, snapshots or checkpoints of one run), read one at a time. Throws
// invalid_argument for none, bad_model, naming the file and the difference, when configurations or tokenizers differ.
formats::Model average_models(std::span<const std::filesystem::path> files);

}  // namespace zhuyi::train
