// Speed of every operation of the table in tests/ops/op_cases.h, forward and with its gradients, in the order of the
// table.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "../tests/ops/op_instance.h"
#include "base/parallel.h"
#include "kernels/peak.h"
#include "kernels/targets.h"

namespace {

using namespace zhuyi;

// The best of several calls, for about `budget` seconds.
template <class Body>
double best_seconds(double budget, const Body& body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  double spent = 0;
  for (int call = 0; call < 3 || spent < budget; ++call) {
    const auto start = Clock::now();
    body();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    spent += seconds;
    if (call > 0 || spent > budget) best = std::min(best, seconds);  // the first call warms up
  }
  return best;
}

void print_row(const ops::OpRow& row, std::int64_t rows, std::int64_t columns, double budget) {
  const ops::OpInstance instance(row.make(rows, columns), tensor::DType::f32, 1);
  tensor::Tensor weights;
  const auto forward = [&] {
    autograd::Tape tape(instance.gradients());
    return instance.forward(tape, instance.variables(tape));
  };
  const ops::Var out = forward();
  weights = tensor::Tensor::full(out.rows(), out.columns(), 1);
  // The loss costs nothing: its gradient is the tensor of ones.
  const auto both = [&] {
    autograd::Tape tape(instance.gradients());
    const ops::Var y = instance.forward(tape, instance.variables(tape));
    const ops::Var loss = tape.record(tensor::Tensor::zeros(1, 1), [&](const tensor::Tensor&, autograd::Tape& t) {
      if (y.tracked()) t.gradient(y).assign(weights);
    });
    tape.backward(loss);
  };
  const double one = best_seconds(budget, forward);
  const double two = best_seconds(budget, both);
  const double work = 2 * instance.op().multiply_adds / 1e9;
  if (work > 0) {
    fmt::print("{:<42}{:>10.0f}{:>12.1f}{:>12.0f}{:>12.1f}  GFLOP/s\n", row.name, one * 1e6, work / one, two * 1e6,
               3 * work / two);
  } else {
    const auto elements = static_cast<double>(out.value().size());
    fmt::print("{:<42}{:>10.0f}{:>12.2f}{:>12.0f}{:>12.2f}  ns an element\n", row.name, one * 1e6, one * 1e9 / elements,
               two * 1e6, two * 1e9 / elements);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Speed of every operation, forward and with its gradients (three times the forward's multiply-adds).");
  std::int64_t rows = 4096;
  std::int64_t columns = 512;
  int threads = base::threads();
  double budget = 0.2;
  std::string only;
  std::string target;
  app.add_option("--rows", rows, "token rows")->check(CLI::PositiveNumber);
  app.add_option("--columns", columns, "their width")->check(CLI::PositiveNumber);
  app.add_option("--threads", threads, "threads")->check(CLI::PositiveNumber);
  app.add_option("--seconds", budget, "seconds for each figure");
  app.add_option("--only", only, "rows whose name contains this");
  app.add_option("--target", target, "instruction set: AVX3, AVX2 or SSE2 (default: the best)");
  CLI11_PARSE(app, argc, argv);
  base::set_threads(threads);
  kernels::use_target(target);
  fmt::print("{} x {}, {}, {} threads: peak {:.1f} GFLOP/s\n", rows, columns, kernels::current_target(), threads,
             kernels::peak_gflops(threads));
  fmt::print("{:<42}{:>10}{:>12}{:>12}{:>12}\n", "operation", "usec", "forward", "usec", "+ backward");
  for (const ops::OpRow& row : ops::op_table()) {
    if (row.name.find(only) != std::string::npos) print_row(row, rows, columns, budget);
  }
}
