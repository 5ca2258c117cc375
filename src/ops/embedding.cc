#include <vector>

#include "base/error.h"
#include "kernels/rows.h"
#include "ops/ops.h"
#include "ops/record.h"

namespace zhuyi::ops {

using autograd::Operation;
using autograd::Tape;
using tensor::Tensor;

Var embedding(const Weight& table, std::span<const std::int32_t> ids, double factor, Run& run) {
  base::check(!run.recording() || table.plain() != nullptr, "{} is kept in {}: such a model cannot be trained",
              table.name(), table.stored_as());
  std::vector<std::int32_t> kept;
  if (run.recording()) kept.assign(ids.begin(), ids.end());
  return record(
      run, {Operation::embedding, std::ssize(ids), table.inputs(), table.dtype()},
      [&]<class T>(T, Tensor& out) { table.rows<T>(ids, static_cast<T>(factor), out.matrix<T>()); },
      [table = table.declared().parameter, factor, kept]<class T>(T, const Tensor& dout, Tape& tape) {
        kernels::scatter_add_rows<T>(dout.matrix<T>(), kept, static_cast<T>(factor), tape.gradient(*table).matrix<T>());
      });
}

}  // namespace zhuyi::ops
