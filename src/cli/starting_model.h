#pragma once
// A training run that starts with the weights of another model.

#include <filesystem>
#include <functional>
#include <string>

#include "formats/model_file.h"
#include "nn/config.h"

namespace zhuyi::cli {

// The model file `from`, or the newest checkpoint of the run in `directory` once there is one, with the fields of its
// configuration that `change` sets (dropout, for example). Throws invalid_argument, naming the difference, when its
// weights do not fit a model of the changed configuration; bad_model, not_found.
formats::Model starting_model(const std::filesystem::path& from, const std::filesystem::path& directory,
                              const std::function<void(nn::Config&)>& change);

}  // namespace zhuyi::cli
