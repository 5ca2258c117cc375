#include "autograd/tape.h"

#include <utility>

#include "kernels/vector.h"

namespace zhuyi::autograd {

using base::check;
using base::ErrorKind;
using tensor::Tensor;

Var Tape::variable(Tensor value) { return record(std::move(value), {}); }

Var Tape::record(Tensor value, Backward backward) {
  Entry entry;
  entry.rows = value.rows();
  entry.columns = value.columns();
  entry.dtype = value.dtype();
  entry.backward = std::move(backward);
  entries_.push_back(std::move(entry));
  return Var(std::move(value), static_cast<std::int64_t>(entries_.size()) - 1);
}

Tape::Entry& Tape::entry_of(const Var& var) {
  base::check_kind(var.tracked(), ErrorKind::internal, "tape: the gradient of a constant {}", var.value().shape());
  return entries_[static_cast<std::size_t>(var.slot())];
}

Tensor Tape::gradient(const Var& var) {
  Entry& entry = entry_of(var);
  if (entry.gradient.empty()) entry.gradient = Tensor::zeros(entry.rows, entry.columns, entry.dtype);
  return entry.gradient;
}

Tape::Destination Tape::destination(const Var& var) {
  Entry& entry = entry_of(var);
  const bool add = !entry.gradient.empty();
  if (!add) entry.gradient = Tensor(entry.rows, entry.columns, entry.dtype);
  return {entry.gradient, add};
}

void Tape::give(const Var& var, Tensor gradient) {
  Entry& entry = entry_of(var);
  base::check_kind(
      gradient.rows() == entry.rows && gradient.columns() == entry.columns && gradient.dtype() == entry.dtype,
      ErrorKind::internal, "tape: a gradient {} for {}", gradient.shape(), var.value().shape());
  if (entry.gradient.empty()) {
    entry.gradient = std::move(gradient);
    return;
  }
  tensor::visit(entry.dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels::add_scaled<T>(1, std::as_const(gradient).data<T>(), entry.gradient.data<T>());
  });
}

void Tape::backward(const Var& loss) {
  check(loss.value().size() == 1, "backward: the loss is {}, expected one number", loss.value().shape());
  gradient(loss).fill(1);
  for (std::int64_t slot = loss.slot(); slot >= 0; --slot) {
    Entry& entry = entries_[static_cast<std::size_t>(slot)];
    if (!entry.backward) continue;
    if (!entry.gradient.empty()) entry.backward(entry.gradient, *this);
    entry.backward = nullptr;
    entry.gradient = Tensor();
  }
}

}  // namespace zhuyi::autograd
