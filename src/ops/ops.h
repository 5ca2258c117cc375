#pragma once
// The vocabulary of the model: every differentiable function, on one page. Each has its forward and its backward side
// in one function of the .cc files. A Var is [tokens, width]; all inputs of one call have one dtype.

#include <cstdint>
#include <memory>
#include <span>

#include "autograd/run.h"
#include "kernels/attention.h"
#include "kernels/rows.h"
#include "kernels/vector.h"
#include "ops/weight.h"

namespace zhuyi::ops {

using autograd::ConstParameterPtr;
using autograd::Run;
using autograd::Var;
using kernels::Activation;

// x W + bias: [tokens, in] -> [tokens, out]. bias [1, out] or nullptr.
Var linear(const Var& x, const Weight& weight, const ConstParameterPtr& bias, Run& run);

// factor * table[ids]: [tokens, width]. Ids must be in [0, table rows).
Var embedding(const Weight& table, std::span<const std::int32_t> ids, double factor, Run& run);

// x + y, same shape.
Var add(const Var& x, const Var& y, Run& run);
// x * y element by element, same shape.
Var multiply(const Var& x, const Var& y, Run& run);
// x + dropout(y): the residual connection around a sub-layer with output y (paper 5.4).
Var add_dropout(const Var& x, const Var& y, double rate, Run& run);
Var dropout(const Var& x, double rate, Run& run);
Var activate(const Var& x, Activation activation, Run& run);

// Over each row; gain, bias [1, width].
Var layer_norm(const Var& x, const ConstParameterPtr& gain, const ConstParameterPtr& bias, double epsilon, Run& run);
Var rms_norm(const Var& x, const ConstParameterPtr& gain, double epsilon, Run& run);

struct AttentionOptions {
  std::int64_t heads = 1;
  kernels::SimilarityOptions similarity;
  double dropout = 0;  // of the weights
};
// Multi-head attention over the keys that the map gives each query: [queries, heads * d_v]. See kernels/attention.h.
Var attention(const Var& q, const Var& k, const Var& v, std::shared_ptr<const kernels::AttentionMap> map,
              const AttentionOptions& options, Run& run);

// The loss of a batch and what is reported beside it.
struct Loss {
  Var total;       // 1 x 1: sum over tokens of the smoothed cross-entropy
  double nll = 0;  // sum over tokens of -log p(target)
};
// Softmax over the vocabulary of x W + bias and its cross-entropy against targets, in blocks of rows: the [tokens,
// vocabulary] matrix of a whole batch never exists. targets [tokens]. A recorded pass adds the gradients of the weight
// and the bias at once, while the logits are there: so the loss is what backward begins with, and nothing may scale it
// (throws internal).
Loss projection_loss(const Var& x, const Weight& weight, const ConstParameterPtr& bias,
                     std::span<const std::int32_t> targets, const kernels::Smoothing& smoothing, Run& run);

// -log p(target) of every token under softmax(x W + bias), without gradients: [tokens, 1].
tensor::Tensor projection_nll(const tensor::Tensor& x, const Weight& weight, const ConstParameterPtr& bias,
                              std::span<const std::int32_t> targets);

}  // namespace zhuyi::ops
