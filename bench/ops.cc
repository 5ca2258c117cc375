// Speed of the matrix products at the model's shapes, beside what the registers of this machine can do.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "kernels/gemm.h"
#include "kernels/gemm_int8.h"
#include "kernels/peak.h"
#include "kernels/precision.h"
#include "kernels/targets.h"

namespace {

using namespace zhuyi;

struct Shape {
  std::string name;
  std::int64_t m, k, n;
  bool a_transposed = false;
  bool b_transposed = false;
  bool packed = false;
  bool accumulate = false;
  bool parallel = true;
};

// `tokens`: the rows of a training batch.
std::vector<Shape> shapes(std::int64_t tokens) {
  std::vector<Shape> list;
  for (const std::int64_t k : {256, 512, 1024, 2048}) {
    for (const std::int64_t n : {256, 512, 1024, 2048}) list.push_back({"forward", tokens, k, n});
  }
  for (const std::int64_t d : {256, 512}) {
    for (const std::int64_t vocabulary : {8000, 32000}) {
      list.push_back({"output", 1024, d, vocabulary});
      list.push_back({"output, b transposed", 1024, d, vocabulary, false, true});
    }
  }
  for (const std::int64_t d : {256, 512}) {
    list.push_back({"dX = dY W^T", tokens, d, d, false, true});
    list.push_back({"dX = dY W^T", tokens, 4 * d, d, false, true});
    list.push_back({"dX = dY W^T", tokens, d, 4 * d, false, true});
    list.push_back({"dW += X^T dY", d, tokens, d, true, false, false, true});
    list.push_back({"dW += X^T dY", d, tokens, 4 * d, true, false, false, true});
    list.push_back({"dW += X^T dY", 4 * d, tokens, d, true, false, false, true});
  }
  for (const std::int64_t m : {1, 2, 4, 8, 16, 32, 64})
    list.push_back({"decode, packed", m, 512, 512, false, false, true});
  for (const std::int64_t m : {1, 8, 32}) list.push_back({"decode, packed", m, 512, 8000, false, false, true});
  for (const std::int64_t m : {1, 4, 128}) {
    list.push_back({"decode, packed", m, 512, 2048, false, false, true});
    list.push_back({"decode, packed", m, 2048, 512, false, false, true});
    list.push_back({"decode, packed", m, 512, 32000, false, false, true});
  }
  list.push_back({"attention q k^T", 20, 64, 20, false, true, false, false, false});
  list.push_back({"attention w v", 20, 20, 64, false, false, false, false, false});
  list.push_back({"attention q k^T", 60, 64, 60, false, true, false, false, false});
  return list;
}

std::vector<float> numbers(std::int64_t count) {
  base::Random random(base::combine(1, count));
  std::vector<float> result(static_cast<std::size_t>(count));
  for (float& x : result) x = static_cast<float>(random.uniform() - 0.5);
  return result;
}

// What one call takes: by the clock on the wall, and by the time that this process had a core (all threads together).
// The two differ where other programs run beside it.
struct Seconds {
  double wall = 1e30;
  double core = 1e30;
};

// The best of several runs of at least a few milliseconds, about `budget` seconds together.
template <class Body>
Seconds best_seconds(double budget, const Body& body) {
  using Clock = std::chrono::steady_clock;
  Seconds best;
  const auto run = [&](std::int64_t calls) {
    const std::clock_t core = std::clock();
    const auto start = Clock::now();
    for (std::int64_t call = 0; call < calls; ++call) body();
    const double wall = std::chrono::duration<double>(Clock::now() - start).count();
    const double core_seconds = static_cast<double>(std::clock() - core) / CLOCKS_PER_SEC;
    best.wall = std::min(best.wall, wall / static_cast<double>(calls));
    best.core = std::min(best.core, core_seconds / static_cast<double>(calls));
    return wall;
  };
  run(1);
  std::int64_t calls = 1;
  while (run(calls) < 2e-3) calls *= 2;
  best = {};
  double spent = 0;
  while (spent < budget) spent += run(calls);
  return best;
}

Seconds measure(const Shape& shape, double budget, kernels::Precision precision) {
  const std::vector<float> a = numbers(shape.m * shape.k);
  const std::vector<float> b = numbers(shape.k * shape.n);
  std::vector<float> c(static_cast<std::size_t>(shape.m * shape.n));
  using kernels::ConstMatrix;
  const ConstMatrix<float> left = shape.a_transposed
                                      ? ConstMatrix<float>::dense(a.data(), shape.k, shape.m).transposed()
                                      : ConstMatrix<float>::dense(a.data(), shape.m, shape.k);
  const ConstMatrix<float> right = shape.b_transposed
                                       ? ConstMatrix<float>::dense(b.data(), shape.n, shape.k).transposed()
                                       : ConstMatrix<float>::dense(b.data(), shape.k, shape.n);
  const auto out = kernels::Matrix<float>::dense(c.data(), shape.m, shape.n);
  const kernels::GemmOptions<float> options{
      .accumulate = shape.accumulate, .parallel = shape.parallel, .precision = precision};
  if (!shape.packed && precision != kernels::Precision::int8)
    return best_seconds(budget, [&] { kernels::gemm<float>(left, right, out, options); });
  if (precision == kernels::Precision::int8) {
    const kernels::Int8Matrix bytes(right);
    return best_seconds(budget, [&] { kernels::gemm(left, bytes, out, {.parallel = shape.parallel}); });
  }
  const kernels::PackedMatrix packed(right, precision);
  return best_seconds(budget, [&] { kernels::gemm(left, packed, out, options); });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Speed of the matrix products in GFLOP/s, and the share of what the registers can do.");
  int threads = base::threads();
  double budget = 0.3;
  std::int64_t tokens = 4096;
  std::string only;
  std::string target;
  app.add_option("--threads", threads, "threads")->check(CLI::PositiveNumber);
  app.add_option("--seconds", budget, "seconds for each row");
  app.add_option("--tokens", tokens, "rows of a training batch")->check(CLI::PositiveNumber);
  app.add_option("--only", only, "rows whose name contains this");
  app.add_option("--target", target, "instruction set: AVX3, AVX2 or SSE2 (default: the best)");
  std::string path;
  app.add_option("--kernels", path, "the same in the words of zhuyi --kernels, e.g. avxvnni")->envname("ZHUYI_KERNELS");
  std::string word = "f32";
  app.add_option("--precision", word, "f32, bf16 or int8 (packed shapes only); shares are of what f32 can do")
      ->check(CLI::IsMember({"f32", "bf16", "int8"}));
  CLI11_PARSE(app, argc, argv);
  base::set_threads(threads);
  kernels::use_target(target);
  if (!path.empty()) kernels::use_path(path);
  const kernels::Precision precision = kernels::precision_of(word);
  const double alone = kernels::peak_gflops(1);
  const double together = kernels::peak_gflops(threads);
  fmt::print("{}, {} threads: peak {:.1f} GFLOP/s; one thread {:.1f}\n", kernels::current_path(), threads, together,
             alone);
  fmt::print("Share: of that peak. Core share: the same by the time that this program had the cores.\n");
  fmt::print("{:<22}{:>6}{:>6}{:>7}{:>11}{:>10}{:>8}{:>12}\n", "product", "m", "k", "n", "usec", "GFLOP/s", "share",
             "core share");
  for (const Shape& shape : shapes(tokens)) {
    if (shape.name.find(only) == std::string::npos) continue;
    if (precision == kernels::Precision::int8 && !shape.packed) continue;
    const Seconds seconds = measure(shape, budget, precision);
    const double work = 2 * static_cast<double>(shape.m * shape.k * shape.n) / 1e9;
    // The clock rate changes, so the peak of one thread is taken again beside each row.
    const double now = std::max(alone, kernels::peak_gflops(1));
    const double peak = shape.parallel ? std::max(together, now) : now;
    fmt::print("{:<22}{:>6}{:>6}{:>7}{:>11.1f}{:>10.1f}{:>7.0f}%{:>11.0f}%\n", shape.name, shape.m, shape.k, shape.n,
               seconds.wall * 1e6, work / seconds.wall, 100 * work / seconds.wall / peak,
               100 * work / seconds.core / now);
    std::fflush(stdout);
  }
}
