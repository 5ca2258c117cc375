#include "base/error.h"
#include "ops/ops.h"
#include "ops/record.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Tape;
using kernels::AttentionInputs;
using kernels::AttentionMap;
using tensor::Tensor;

namespace {

template <class T>
AttentionInputs<T> inputs_of(const Var& q, const Var& k, const Var& v, const AttentionOptions& options,
                             const kernels::Dropout& mask) {
  return {q.value().matrix<T>(), k.value().matrix<T>(), v.value().matrix<T>(), options.heads, options.similarity, mask};
}

// Where a variable's gradient goes: scratch when nobody wants it.
Tape::Destination destination_of(const Var& x, Tape& tape) {
  return x.tracked() ? tape.destination(x) : Tape::Destination{Tensor(x.rows(), x.columns(), x.value().dtype()), false};
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

// Keys and values that were kept in bf16: read as they lie where the map looks them up, else widened first.
void attention_over_bf16(const Var& q, const Var& k, const Var& v, const AttentionMap& map,
                         const AttentionOptions& options, bool few_queries, Tensor& out, std::span<float> weights) {
  if (!few_queries && map.key_rows.empty()) {
    const Var wide_k(k.value().to(tensor::DType::f32));
    const Var wide_v(v.value().to(tensor::DType::f32));
    kernels::attention<float>(inputs_of<float>(q, wide_k, wide_v, options, {}), map, out.matrix<float>(), weights);
    return;
  }
  const AttentionInputs<float, kernels::Bf16> inputs{q.value().matrix<float>(),
                                                     k.value().matrix<kernels::Bf16>(),
                                                     v.value().matrix<kernels::Bf16>(),
                                                     options.heads,
                                                     options.similarity,
                                                     {},
                                                     few_queries};
  kernels::attention<float>(inputs, map, out.matrix<float>(), weights);
}

}  // namespace

Var attention(const Var& q, const Var& k, const Var& v, std::shared_ptr<const AttentionMap> map,
              const AttentionOptions& options, Run& run) {
  base::check(q.columns() == k.columns() && k.rows() == v.rows() && q.columns() % options.heads == 0 &&
                  v.columns() % options.heads == 0,
              "attention: q {}, k {}, v {} with {} heads", q.value().shape(), k.value().shape(), v.value().shape(),
              options.heads);
  const tensor::DType dtype = q.value().dtype();
  const bool in_bf16 = k.value().dtype() == tensor::DType::bf16;
  base::check_kind(k.value().dtype() == v.value().dtype() && (k.value().dtype() == dtype || !run.recording()) &&
                       (!run.few_queries || !run.recording()),
                   base::ErrorKind::internal, "attention: q {}, k {}, v {} while gradients are recorded",
                   q.value().shape(), k.value().shape(), v.value().shape());
  const kernels::Dropout mask = run.next_dropout(options.dropout);
  const bool differentiable = q.tracked() || k.tracked() || v.tracked();
  const bool keep = (run.recording() && differentiable) || run.attention_records != nullptr;
  Tensor weights(1, keep ? kernels::attention_weight_count(*map, options.heads) : 0, dtype);
  const autograd::Work work = run.profile() != nullptr ? work_of(*map, q.columns(), v.columns()) : autograd::Work{};
  const Var result = record(
      run,
      {.operation = Operation::attention,
       .rows = q.rows(),
       .columns = v.columns(),
       .dtype = dtype,
       .differentiable = differentiable,
       .forward = work,
       .backward = {.flops = 2 * work.flops}},
      [&]<class T>(T, Tensor& out) {
        if (in_bf16) {
          return attention_over_bf16(q, k, v, *map, options, run.few_queries, out, weights.data<float>());
        }
        AttentionInputs<T> inputs = inputs_of<T>(q, k, v, options, mask);
        inputs.few_queries = run.few_queries;
        kernels::attention<T>(inputs, *map, out.matrix<T>(), weights.data<T>());
      },
      [=]<class T>(T, const Tensor& dout, Tape& tape) {
        Tape::Destination dq = destination_of(q, tape);
        Tape::Destination dk = destination_of(k, tape);
        Tape::Destination dv = destination_of(v, tape);
        const bool add = dq.add || dk.add || dv.add;
        for (Tape::Destination* to : {&dq, &dk, &dv}) {
          if (add && !to->add) to->gradient.fill(0);
        }
        kernels::attention_backward<T>(inputs_of<T>(q, k, v, options, mask), *map, weights.data<T>(), dout.matrix<T>(),
                                       dq.gradient.matrix<T>(), dk.gradient.matrix<T>(), dv.gradient.matrix<T>(), add);
      });
  if (run.attention_records != nullptr) run.attention_records->push_back({options.heads, weights});
  return result;
}

}  // namespace zhuyi::ops
