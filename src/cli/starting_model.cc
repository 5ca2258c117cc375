#include "cli/starting_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "train/run_directory.h"

namespace zhuyi::cli {
namespace {

bool same_parameters(const nn::Transformer& a, const nn::Transformer& b) {
  const auto& x = a.parameters().list();
  const auto& y = b.parameters().list();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& p, const auto& q) {
    return p->name == q->name && p->rows == q->rows && p->columns == q->columns;
  });
}

formats::Model read(const std::filesystem::path& from, const std::filesystem::path& directory) {
  if (std::filesystem::exists(directory)) {
    train::FoundCheckpoint found = train::newest_checkpoint(directory);
    if (found.checkpoint) return std::move(found.checkpoint->model);
  }
  formats::Model model = formats::load_model(from);
  model.provenance = {{"started-from", from.string()}};
  return model;
}

}  // namespace

formats::Model starting_model(const std::filesystem::path& from, const std::filesystem::path& directory,
                              const std::function<void(nn::Config&)>& change) {
  formats::Model model = read(from, directory);
  const nn::Config before = model.transformer->config();
  nn::Config config = before;
  change(config);
  if (nn::to_json(before) == nn::to_json(config)) return model;
  nn::validate(config);
  auto changed = std::make_unique<nn::Transformer>(config, model.transformer->bos(), 0);
  base::check(same_parameters(*model.transformer, *changed),
              "--from {}: its weights do not fit other sizes ({}); leave these options out", from.string(),
              train::differences(nn::to_json(before).dump(), nn::to_json(config).dump()));
  changed->parameters().flat().assign(model.transformer->parameters().flat());
  model.transformer = std::move(changed);
  return model;
}

}  // namespace zhuyi::cli
