#include <algorithm>
#include <vector>

#include "base/error.h"
#include "ops/ops.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Pass;
using autograd::Timing;
using tensor::Tensor;
using tensor::visit;

Var embedding(const ParameterPtr& table, std::span<const std::int32_t> ids, double factor, Run& run) {
  const Timing timing(run.profile(), Operation::embedding, Pass::forward);
  for (const std::int32_t id : ids) {
    base::check(id >= 0 && id < table->rows, "embedding: id {} is outside {} with {} rows", id, table->name,
                table->rows);
  }
  const tensor::DType dtype = table->int8 ? tensor::DType::f32 : table->value.dtype();
  Tensor out(static_cast<std::int64_t>(ids.size()), table->columns, dtype);
  if (table->int8) {
    base::check(!run.recording(), "{} is in 8 bits: a frozen model cannot be trained", table->name);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      table->int8->column(ids[i], static_cast<float>(factor), out.matrix<float>().row(static_cast<std::int64_t>(i)));
    }
    return Var(out);
  }
  visit(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::gather_rows<T>(table->value.matrix<T>(), ids, static_cast<T>(factor), out.matrix<T>());
  });
  std::vector<std::int32_t> kept;
  if (run.recording()) kept.assign(ids.begin(), ids.end());
  return run.output(out, true, [table, factor, kept = std::move(kept)](const Tensor& dout, autograd::Tape& tape) {
    const Timing backward_timing(tape.profile(), Operation::embedding, Pass::backward);
    visit(dout.dtype(), [&](auto zero) {
      using T = decltype(zero);
      kernels::scatter_add_rows<T>(dout.matrix<T>(), kept, static_cast<T>(factor), tape.gradient(*table).matrix<T>());
    });
  });
}

}  // namespace zhuyi::ops
