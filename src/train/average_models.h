#pragma once
// One model whose weights are the mean of several models' weights (paper 6.1).

#include <filesystem>
#include <span>

#include "formats/model_file.h"

namespace zhuyi::train {

// The mean of the models in the files (models, snapshots or checkpoints of one run), read one at a time. Throws
// invalid_argument for none, bad_model, naming the file and the difference, when configurations or tokenizers differ.
formats::Model average_models(std::span<const std::filesystem::path> files);

}  // namespace zhuyi::train
