#include "train/average_models.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "optim/average.h"
#include "train/checkpoint.h"

namespace zhuyi::train {
namespace {

// Throws bad_model, naming the difference, unless the weights of both mean the same thing.
void check_alike(const std::filesystem::path& first_file, const formats::Model& first,
                 const std::filesystem::path& file, const formats::Model& model) {
  const std::string before = nn::to_json(first.transformer->config()).dump();
  const std::string now = nn::to_json(model.transformer->config()).dump();
  base::check_kind(before == now, base::ErrorKind::bad_model,
                   "average: {} has another configuration than {} ({}); only models of one shape have a mean",
                   file.string(), first_file.string(), differences(before, now));
  base::check_kind(model.source.serialized() == first.source.serialized() &&
                       model.target.serialized() == first.target.serialized() &&
                       model.transformer->bos() == first.transformer->bos(),
                   base::ErrorKind::bad_model, "average: {} has another tokenizer than {}", file.string(),
                   first_file.string());
}

}  // namespace

tensor::Tensor mean_of_blocks(const std::function<std::optional<tensor::Tensor>()>& next) {
  optim::Mean mean;
  while (const std::optional<tensor::Tensor> block = next()) mean.add(*block);
  return mean.value();
}

formats::Model average_models(std::span<const std::filesystem::path> files) {
  base::check(!files.empty(), "average: no models");
  std::optional<formats::Model> first;
  const auto next = [&, file = files.begin()]() mutable -> std::optional<tensor::Tensor> {
    if (file == files.end()) return std::nullopt;
    formats::Model model = formats::load_model(*file);
    const tensor::Tensor weights = model.transformer->parameters().flat();
    if (first) {
      check_alike(files.front(), *first, *file, model);
    } else {
      first = std::move(model);
    }
    ++file;
    return weights;
  };
  tensor::Tensor mean = mean_of_blocks(next);
  first->transformer->parameters().flat().assign(mean);
  for (const char* figure : {"steps", "target-tokens", "validation-nll", "validation-bleu", "averaged-snapshots"}) {
    first->provenance.erase(figure);  // true of the first model alone
  }
  first->provenance["averaged-models"] = std::to_string(files.size());
  return std::move(*first);
}

}  // namespace zhuyi::train
