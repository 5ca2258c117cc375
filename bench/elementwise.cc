// Speed of the kernels that are not matrix products, beside that of copying memory: ns for each element, GB/s.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "kernels/attention.h"
#include "kernels/rows.h"
#include "kernels/targets.h"
#include "kernels/vector.h"

namespace {

using namespace zhuyi;
using Vector = std::vector<float>;

struct Row {
  std::string name;
  std::int64_t elements;
  double bytes;  // that one element must read and write
  std::function<void()> body;
};

// What the rows work on. In-place kernels read their own results: `x` is filled again for those that would not stay
// finite.
struct Data {
  static constexpr std::int64_t kRows = 4096;
  static constexpr std::int64_t kWidth = 512;
  static constexpr std::int64_t kTokens = 512;
  static constexpr std::int64_t kClasses = 8000;
  static constexpr std::int64_t kHeads = 8;

  Vector x = Vector(kRows * kWidth), y = Vector(kRows * kWidth, 1e-3F), z = Vector(kRows * kWidth, 1e-3F),
         w = Vector(kRows * kWidth, 1e-3F), logits = Vector(kTokens * kClasses), losses = Vector(kTokens),
         nll = Vector(kTokens), gain = Vector(kWidth, 1), bias = Vector(kWidth), dgain = Vector(kWidth),
         dbias = Vector(kWidth), mean = Vector(kRows), inverse = Vector(kRows, 1), weights, probabilities;
  std::vector<std::int32_t> targets = std::vector<std::int32_t>(kTokens, 5), picks = std::vector<std::int32_t>(kRows);
  kernels::AttentionMap sentences, cache;

  Data() {
    base::Random random(1);
    for (float& value : x) value = static_cast<float>(random.normal());
    for (float& value : logits) value = static_cast<float>(random.normal());
    for (std::int32_t& pick : picks) pick = static_cast<std::int32_t>(random.below(kRows));
    for (std::int64_t begin = 0; begin + 32 <= kRows; begin += 32) {
      sentences.blocks.push_back({begin, begin + 32, begin, begin + 32});
    }
    weights.resize(static_cast<std::size_t>(kernels::attention_weight_count(sentences, kHeads)));
    probabilities = weights;
    for (std::int64_t i = 0; i < 64; ++i) cache.blocks.push_back({i, i + 1, 64 * i, 64 * i + 30});
    cache.key_rows = picks;
  }
  kernels::ConstMatrix<float> view(const Vector& v) const {
    return kernels::ConstMatrix<float>::dense(v.data(), kRows, kWidth);
  }
  kernels::Matrix<float> view(Vector& v) const { return kernels::Matrix<float>::dense(v.data(), kRows, kWidth); }
  kernels::AttentionInputs<float> attention_inputs(double rate) const {
    return {view(x), view(x), view(x), kHeads, {}, {rate, 7}};
  }
};

std::vector<Row> vector_rows(Data& d) {
  using kernels::Activation;
  constexpr std::int64_t n = Data::kRows * Data::kWidth;
  const auto activation = [&d](Activation kind) { return [&d, kind] { kernels::activate<float>(kind, d.x, d.y); }; };
  const auto backward = [&d](Activation kind) {
    return [&d, kind] { kernels::activate_backward<float>(kind, d.x, d.z, d.w); };
  };
  return {
      {"copy (std::copy)", n, 8, [&d] { std::copy(d.x.begin(), d.x.end(), d.y.begin()); }},
      {"add", n, 12, [&d] { kernels::add<float>(d.x, d.z, d.y); }},
      {"sum_of_squares", n, 4, [&d] { d.losses[0] = static_cast<float>(kernels::sum_of_squares<float>(d.x)); }},
      {"relu", n, 8, activation(Activation::relu)},
      {"gelu", n, 8, activation(Activation::gelu)},
      {"silu", n, 8, activation(Activation::silu)},
      {"relu backward", n, 16, backward(Activation::relu)},
      {"gelu backward", n, 16, backward(Activation::gelu)},
      {"silu backward", n, 16, backward(Activation::silu)},
      {"dropout", n, 8,
       [&d] {
         kernels::dropout<float>({0.1, 7}, d.x, d.y);
       }},
      {"add_dropout", n, 12,
       [&d] {
         kernels::add_dropout<float>({0.1, 7}, d.z, d.y);
       }},
      {"adam", n, 28, [&d] { kernels::adam<float>({.rate = 1e-9}, d.x, d.y, d.z, d.w); }},
  };
}

std::vector<Row> matrix_rows(Data& d) {
  constexpr std::int64_t n = Data::kRows * Data::kWidth;
  constexpr std::int64_t classes = Data::kTokens * Data::kClasses;
  const auto logits = [&d] { return kernels::Matrix<float>::dense(d.logits.data(), Data::kTokens, Data::kClasses); };
  const auto layer_norm_backward = [&d] {
    kernels::layer_norm_backward<float>(d.view(std::as_const(d.x)), d.gain, d.mean, d.inverse,
                                        {d.view(std::as_const(d.z)), d.view(d.w), d.dgain, d.dbias});
  };
  const auto short_rows = [&d] {
    kernels::softmax(kernels::Matrix<float>::dense(d.probabilities.data(), Data::kRows * Data::kHeads, 32));
  };
  return {
      {"softmax, rows of 32", Data::kRows * Data::kHeads * 32, 8, short_rows},
      {"softmax, rows of 8000", classes, 8, [logits] { kernels::softmax(logits()); }},
      {"log_softmax, rows of 8000", classes, 8, [logits] { kernels::log_softmax(logits()); }},
      {"cross_entropy, 8000", classes, 4,
       [&d, logits] { kernels::cross_entropy<float>(logits(), d.targets, {0.1}, false, d.losses, d.nll); }},
      {"cross_entropy + gradient", classes, 8,
       [&d, logits] { kernels::cross_entropy<float>(logits(), d.targets, {0.1}, true, d.losses, d.nll); }},
      {"layer_norm", n, 8,
       [&d] {
         kernels::layer_norm<float>(d.view(std::as_const(d.x)), d.gain, d.bias, 1e-5F, d.view(d.y), d.mean, d.inverse);
       }},
      {"layer_norm backward", n, 16, layer_norm_backward},
      {"add_column_sums", n, 4, [&d] { kernels::add_column_sums<float>(d.view(std::as_const(d.x)), d.dbias); }},
      {"gather_rows", n, 8, [&d] { kernels::gather_rows<float>(d.view(std::as_const(d.x)), d.picks, 1, d.view(d.y)); }},
      {"scatter_add_rows", n, 12,
       [&d] { kernels::scatter_add_rows<float>(d.view(std::as_const(d.z)), d.picks, 1e-3F, d.view(d.w)); }},
  };
}

// Elements are those of q; bytes are those of q, k, v and out.
std::vector<Row> attention_rows(Data& d) {
  constexpr std::int64_t n = Data::kRows * Data::kWidth;
  const auto forward = [&d](double rate) {
    return [&d, rate] { kernels::attention<float>(d.attention_inputs(rate), d.sentences, d.view(d.y), d.weights); };
  };
  const auto backward = [&d] {
    kernels::attention_backward<float>(d.attention_inputs(0), d.sentences, d.weights, d.view(std::as_const(d.z)),
                                       d.view(d.w), d.view(d.w), d.view(d.w));
  };
  return {
      {"attention, 32 tokens", n, 16, forward(0)},
      {"attention, dropout", n, 16, forward(0.1)},
      {"attention backward", n, 28, backward},
      {"lookup, 64 x 30 keys", 64 * 30 * Data::kWidth, 8,
       [&d] { kernels::attention<float>(d.attention_inputs(0), d.cache, d.view(d.y), {}); }},
  };
}

double best_seconds(double budget, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  body();
  double best = 1e30;
  for (double spent = 0; spent < budget;) {
    const auto start = Clock::now();
    body();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Speed of element-wise and row-wise kernels in f32, [4096, 512] unless said otherwise.");
  int threads = base::threads();
  double budget = 0.3;
  std::string only;
  std::string target;
  app.add_option("--threads", threads, "threads")->check(CLI::PositiveNumber);
  app.add_option("--seconds", budget, "seconds for each row");
  app.add_option("--only", only, "rows whose name contains this");
  app.add_option("--target", target, "instruction set: AVX3, AVX2 or SSE2 (default: the best)");
  CLI11_PARSE(app, argc, argv);
  base::set_threads(threads);
  kernels::use_target(target);
  fmt::print("{}, {} threads, the best of all runs\n", kernels::current_target(), threads);
  fmt::print("{:<28}{:>10}{:>12}{:>10}\n", "kernel", "usec", "ns/element", "GB/s");
  Data data;
  for (const auto rows : {vector_rows, matrix_rows, attention_rows}) {
    for (const Row& row : rows(data)) {
      if (row.name.find(only) == std::string::npos) continue;
      const double seconds = best_seconds(budget, row.body);
      const double elements = static_cast<double>(row.elements);
      fmt::print("{:<28}{:>10.1f}{:>12.3f}{:>10.1f}\n", row.name, seconds * 1e6, seconds / elements * 1e9,
                 elements * row.bytes / seconds / 1e9);
      std::fflush(stdout);
    }
  }
}
