#include "base/error.h"
#include "ops/ops.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Pass;
using autograd::Tape;
using autograd::Timing;
using kernels::AttentionInputs;
using kernels::AttentionMap;
using tensor::Tensor;
using tensor::visit;

namespace {

template <class T>
AttentionInputs<T> inputs_of(const Var& q, const Var& k, const Var& v, const AttentionOptions& options,
                             const kernels::Dropout& mask) {
  return {q.value().matrix<T>(), k.value().matrix<T>(), v.value().matrix<T>(), options.heads, options.similarity, mask};
}

// The place of a variable's gradient, or scratch when nobody wants it.
Tape::Place place_or_scratch(const Var& x, Tape& tape) {
  return x.tracked() ? tape.place(x) : Tape::Place{Tensor(x.rows(), x.columns(), x.value().dtype()), false};
}

// Of the pairs of query and key that the map joins: the product of both, and the value's share of the result.
autograd::Work work_of(const AttentionMap& map, std::int64_t d_k, std::int64_t d_v) {
  double pairs = 0;
  for (const kernels::AttentionBlock& block : map.blocks) {
    const auto queries = static_cast<double>(block.query_end - block.query_begin);
    const auto keys = static_cast<double>(block.key_end - block.key_begin);
    pairs += map.causal ? queries * (queries + 1) / 2 : queries * keys;
  }
  return {.flops = 2 * pairs * static_cast<double>(d_k + d_v)};
}

// Keys and values that were kept in bf16: read as they are where the map looks them up, else widened first.
void attention_over_bf16(const Var& q, const Var& k, const Var& v, const AttentionMap& map,
                         const AttentionOptions& options, const Tensor& out, const Tensor& weights) {
  if (!map.looked_up()) {
    const Var wide_k(k.value().to(tensor::DType::f32));
    const Var wide_v(v.value().to(tensor::DType::f32));
    kernels::attention<float>(inputs_of<float>(q, wide_k, wide_v, options, {}), map, out.matrix<float>(),
                              weights.data<float>());
    return;
  }
  const AttentionInputs<float, kernels::Bf16> inputs{q.value().matrix<float>(),
                                                     k.value().matrix<kernels::Bf16>(),
                                                     v.value().matrix<kernels::Bf16>(),
                                                     options.heads,
                                                     options.similarity,
                                                     {}};
  kernels::attention<float>(inputs, map, out.matrix<float>(), weights.data<float>());
}

}  // namespace

Var attention(const Var& q, const Var& k, const Var& v, std::shared_ptr<const AttentionMap> map,
              const AttentionOptions& options, Run& run) {
  base::check(q.columns() == k.columns() && k.rows() == v.rows() && q.columns() % options.heads == 0 &&
                  v.columns() % options.heads == 0,
              "attention: q {}, k {}, v {} with {} heads", q.value().shape(), k.value().shape(), v.value().shape(),
              options.heads);
  const autograd::Work work = run.profile() != nullptr ? work_of(*map, q.columns(), v.columns()) : autograd::Work{};
  const Timing timing(run.profile(), Operation::attention, Pass::forward, work);
  const kernels::Dropout mask = run.next_dropout(options.dropout);
  const bool differentiable = q.tracked() || k.tracked() || v.tracked();
  base::check_kind(
      k.value().dtype() == v.value().dtype() && (k.value().dtype() == q.value().dtype() || !run.recording()),
      base::ErrorKind::internal, "attention: q {}, k {}, v {} while gradients are recorded", q.value().shape(),
      k.value().shape(), v.value().shape());
  const bool keep = (run.recording() && differentiable) || run.attention_records != nullptr;
  const tensor::DType dtype = q.value().dtype();
  Tensor out(q.rows(), v.columns(), dtype);
  Tensor weights(1, keep ? kernels::attention_weight_count(*map, options.heads) : 0, dtype);
  if (k.value().dtype() == tensor::DType::bf16) {
    attention_over_bf16(q, k, v, *map, options, out, weights);
  } else {
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      kernels::attention<T>(inputs_of<T>(q, k, v, options, mask), *map, out.matrix<T>(), weights.data<T>());
    });
  }
  if (run.attention_records != nullptr) run.attention_records->push_back({options.heads, weights});
  return run.output(out, differentiable, [=](const Tensor& dout, Tape& tape) {
    // Gradients of q, k, v and the weights.
    const Timing backward_timing(tape.profile(), Operation::attention, Pass::backward, {.flops = 2 * work.flops});
    const Tape::Place dq = place_or_scratch(q, tape);
    const Tape::Place dk = place_or_scratch(k, tape);
    const Tape::Place dv = place_or_scratch(v, tape);
    const bool add = dq.add || dk.add || dv.add;
    for (const Tape::Place& place : {dq, dk, dv}) {
      if (add && !place.add) place.gradient.fill(0);
    }
    visit(dtype, [&](auto zero) {
      using T = decltype(zero);
      kernels::attention_backward<T>(inputs_of<T>(q, k, v, options, mask), *map, weights.data<T>(), dout.matrix<T>(),
                                     dq.gradient.matrix<T>(), dk.gradient.matrix<T>(), dv.gradient.matrix<T>(), add);
    });
  });
}

}  // namespace zhuyi::ops
