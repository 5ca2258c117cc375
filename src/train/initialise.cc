#include "train/initialise.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "train/checkpoint.h"

namespace zhuyi::train {
namespace {

using autograd::ConstParameterPtr;
using autograd::Parameter;
using autograd::ParameterPtr;

// The configuration without what may differ.
std::string kind_of(const nn::Config& config) {
  nlohmann::json json = nn::to_json(config);
  for (const char* name :
       {"source-vocabulary", "target-vocabulary", "encoder-layers", "decoder-layers", "dropout", "attention-dropout",
        "feed-forward-dropout", "label-smoothing", "smoothing-form", "tying", "biases", "output-bias"}) {
    json.erase(name);
  }
  return json.dump();
}

// What holds a vector, or a number, for each piece, and under which names another model may hold the same.
struct PieceParameter {
  const char* name;
  bool source;
  std::vector<const char*> others;
};

const std::vector<PieceParameter>& piece_parameters() {
  static const std::vector<PieceParameter> list = {
      {"embedding", true, {"embedding", "target_embedding"}},
      {"source_embedding", true, {"source_embedding", "embedding"}},
      {"target_embedding", false, {"target_embedding", "embedding"}},
      {"output_projection", false, {"output_projection", "target_embedding", "embedding"}},
      {"output_bias", false, {"output_bias"}},
  };
  return list;
}

// The number at (piece, i) of a parameter: embeddings have a row a piece, the output's bias a column.
template <class P>
auto& number_of(P& parameter, std::int64_t piece, std::int64_t i) {
  const std::int64_t width = parameter.rows == 1 ? 1 : parameter.columns;
  return parameter.value.template data<float>()[static_cast<std::size_t>(piece * width + i)];
}

void copy_pieces(const PieceParameter& kind, const formats::Model& from, formats::Model& model, Initialised& result) {
  const ParameterPtr to = model.transformer->parameters().find(kind.name);
  if (to == nullptr) return;
  ConstParameterPtr other;
  for (const char* name : kind.others) {
    if (other == nullptr) other = std::as_const(*from.transformer).parameters().find(name);
  }
  if (other == nullptr) {
    result.missing.push_back(to->name);
    return;
  }
  const text::Tokenizer& pieces = kind.source ? model.source : model.target;
  const bool of_source = other->name == "source_embedding" || (other->name == "embedding" && kind.source);
  const text::Tokenizer& known = of_source ? from.source : from.target;
  const std::int64_t width = to->rows == 1 ? 1 : to->columns;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(pieces.size()); ++id) {
    const std::int32_t row = known.id(pieces.piece(id));
    if (row < 0) {
      ++result.new_rows;
      continue;
    }
    ++result.shared_rows;
    for (std::int64_t i = 0; i < width; ++i) number_of(*to, id, i) = number_of(*other, row, i);
  }
}

}  // namespace

Initialised initialise_from(const formats::Model& from, formats::Model& model) {
  const std::string before = kind_of(from.transformer->config());
  const std::string now = kind_of(model.transformer->config());
  base::check_kind(before == now, base::ErrorKind::bad_model,
                   "the model to start from is of another kind ({}); give the same --preset and model options",
                   differences(before, now));
  Initialised result;
  for (const PieceParameter& kind : piece_parameters()) copy_pieces(kind, from, model, result);
  for (const ParameterPtr& parameter : model.transformer->parameters().list()) {
    const auto by_piece = [&](const PieceParameter& kind) { return kind.name == parameter->name; };
    if (std::any_of(piece_parameters().begin(), piece_parameters().end(), by_piece)) continue;
    const ParameterPtr other = from.transformer->parameters().find(parameter->name);
    if (other == nullptr) {
      result.missing.push_back(parameter->name);
      continue;
    }
    parameter->value.assign(other->value);
    ++result.parameters;
  }
  return result;
}

}  // namespace zhuyi::train
