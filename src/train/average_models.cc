#include "train/average_models.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "optim/average.h"
#include "train/checkpoint.h"

namespace zhuyi::train {

formats::Model average_models(std::span<const std::filesystem::path> files) {
  base::check(!files.empty(), "average: no models");
  std::optional<formats::Model> first;
  optim::Mean mean;
  for (const std::filesystem::path& file : files) {
    formats::Model model = formats::load_model(file);
    if (!first) {
      mean.add(model.transformer->parameters().flat());
      first = std::move(model);
      continue;
    }
    const std::string before = nn::to_json(first->transformer->config()).dump();
    const std::string now = nn::to_json(model.transformer->config()).dump();
    base::check_kind(before == now, base::ErrorKind::bad_model,
                     "average: {} has another configuration than {} ({}); only models of one shape have a mean",
                     file.string(), files.front().string(), differences(before, now));
    base::check_kind(model.source.serialized() == first->source.serialized() &&
                         model.target.serialized() == first->target.serialized() &&
                         model.transformer->bos() == first->transformer->bos(),
                     base::ErrorKind::bad_model, "average: {} has another tokenizer than {}", file.string(),
                     files.front().string());
    mean.add(model.transformer->parameters().flat());
  }
  first->transformer->parameters().flat().assign(mean.value());
  for (const char* figure : {"steps", "target-tokens", "validation-nll", "validation-bleu", "averaged-snapshots"}) {
    first->provenance.erase(figure);  // true of the first model alone
  }
  first->provenance["averaged-models"] = std::to_string(files.size());
  return std::move(*first);
}

}  // namespace zhuyi::train
