#include "nn/embedding.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace zhuyi::nn {

using base::check;
using tensor::Tensor;

namespace {

// Positions and numbers of the table of sinusoids: sentences are seldom longer, and a wide model stays small.
constexpr std::int64_t kTablePositions = 1024;
constexpr std::int64_t kTableNumbers = std::int64_t{1} << 20;

}  // namespace

std::vector<double> sinusoid(Positions layout, std::int64_t position, std::int64_t d_model) {
  const std::int64_t pairs = d_model / 2;
  std::vector<double> row(static_cast<std::size_t>(d_model), 0.0);
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double exponent = layout == Positions::halves_marian
                                ? (pairs > 1 ? static_cast<double>(i) / static_cast<double>(pairs - 1) : 0.0)
                                : static_cast<double>(2 * i) / static_cast<double>(d_model);
    const double angle = static_cast<double>(position) * std::pow(10000.0, -exponent);
    const bool interleaved = layout == Positions::interleaved;
    row[static_cast<std::size_t>(interleaved ? 2 * i : i)] = std::sin(angle);
    row[static_cast<std::size_t>(interleaved ? 2 * i + 1 : pairs + i)] = std::cos(angle);
  }
  return row;
}

Embedding::Embedding(WeightPtr table, ConstParameterPtr learned, const Config& config)
    : table_(std::move(table)), layout_(config.positions), d_model_(config.d_model), dropout_(config.dropout) {
  if (learned) learned_.emplace(std::move(learned), true);
  if (layout_ == Positions::learned || layout_ == Positions::none) return;
  const std::int64_t count = std::min(kTablePositions, kTableNumbers / d_model_);
  for (std::int64_t position = 0; position < count; ++position) {
    const std::vector<double> row = sinusoid(layout_, position, d_model_);
    first_positions_.insert(first_positions_.end(), row.begin(), row.end());
  }
}

Tensor Embedding::sinusoids(std::span<const std::int32_t> positions, tensor::DType dtype) const {
  Tensor out(static_cast<std::int64_t>(positions.size()), d_model_, dtype);
  const auto width = static_cast<std::size_t>(d_model_);
  tensor::visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::span<T> numbers = out.data<T>();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const std::size_t first = static_cast<std::size_t>(positions[i]) * width;
      std::vector<double> computed;
      if (first >= first_positions_.size()) computed = sinusoid(layout_, positions[i], d_model_);
      const double* row = computed.empty() ? first_positions_.data() + first : computed.data();
      for (std::size_t j = 0; j < width; ++j) numbers[i * width + j] = static_cast<T>(row[j]);
    }
  });
  return out;
}

Var Embedding::operator()(std::span<const std::int32_t> ids, std::span<const std::int32_t> positions, Run& run) const {
  check(ids.size() == positions.size(), "embedding: {} ids, {} positions", ids.size(), positions.size());
  Var x = ops::embedding(*table_, ids, std::sqrt(static_cast<double>(d_model_)), run);
  if (layout_ == Positions::learned) {
    for (const std::int32_t position : positions) {
      check(position < learned_->outputs(),
            "embedding: a sentence of more than {} tokens; the model's learned positions end there",
            learned_->outputs());
    }
    x = ops::add(x, ops::embedding(*learned_, positions, 1, run), run);
  } else if (layout_ != Positions::none) {
    x = ops::add(x, Var(sinusoids(positions, x.value().dtype())), run);
  }
  return ops::dropout(x, dropout_, run);
}

}  // namespace zhuyi::nn
