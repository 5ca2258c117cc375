// Who may look at whom: the three uses of attention in the model (paper 3.2.3) differ in their map alone.

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "ops/ops.h"

using zhuyi::autograd::AttentionRecord;
using zhuyi::autograd::Run;
using zhuyi::autograd::Var;
using zhuyi::kernels::AttentionBlock;
using zhuyi::kernels::AttentionMap;
using zhuyi::tensor::DType;
using zhuyi::tensor::Tensor;

void print_weights(const char* name, const Tensor& queries, const Tensor& keys, const AttentionMap& map) {
  std::vector<AttentionRecord> records;
  Run run;
  run.attention_records = &records;
  zhuyi::ops::attention(Var(queries), Var(keys), Var(keys), std::make_shared<const AttentionMap>(map), {}, run);
  const auto weights = records.front().weights.data<double>();
  fmt::print("{}\n", name);
  std::size_t index = 0;
  for (const auto& block : map.blocks) {
    for (auto query = block.query_begin; query < block.query_end; ++query) {
      fmt::print("  query {}:", query);
      for (auto key = block.key_begin; key < block.key_end; ++key) {
        fmt::print("  key {} {:.3f}", key, weights[index]);
        ++index;
      }
      fmt::print("\n");
    }
  }
}

int main() {
  // A source of three words and a target of two, in vectors of two numbers.
  const Tensor source = Tensor::of(3, 2, {1, 0, 0, 1, 1, 1}, DType::f64);
  const Tensor target = Tensor::of(2, 2, {2, 0, 0, 2}, DType::f64);

  const auto print = [](const char* name, const Tensor& queries, const Tensor& keys, std::vector<AttentionBlock> blocks,
                        bool causal) {
    print_weights(name, queries, keys, {.blocks = std::move(blocks), .causal = causal, .key_rows = {}});
  };
  print("encoder: each source word sees all", source, source, {{0, 3, 0, 3}}, false);
  print("decoder: a target word sees itself and those before it", target, target, {{0, 2, 0, 2}}, true);
  print("between them: each target word sees all of the source", target, source, {{0, 2, 0, 3}}, false);
  print("two sentences in one matrix, of 2 words and of 1: no padding, nothing to mask", source, source,
        {{0, 2, 0, 2}, {2, 3, 2, 3}}, false);
}
