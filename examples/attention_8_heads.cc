// Multi-head attention with its learned matrices W_Q, W_K, W_V and W_O, as the model uses it (before any learning).

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "autograd/parameter.h"
#include "nn/attention.h"

using zhuyi::autograd::AttentionRecord;
using zhuyi::autograd::Parameters;
using zhuyi::autograd::Run;
using zhuyi::autograd::Var;
using zhuyi::tensor::DType;
using zhuyi::tensor::Tensor;

int main() {
  zhuyi::nn::Config config;
  config.d_model = 8;
  config.heads = 2;  // each of d_model / heads = 4 columns
  zhuyi::nn::Declarations model;
  Parameters& parameters = model.parameters;
  const zhuyi::nn::MultiHeadAttention attention(model, "self_attention", config);
  parameters.lay_out(DType::f64, 1);
  for (const auto& parameter : parameters.list()) {
    fmt::print("{:<30} [{}, {}]\n", parameter->name, parameter->rows, parameter->columns);
  }
  fmt::print("numbers to learn: {}\n", parameters.count());

  // Three words of eight numbers each.
  const Tensor x = Tensor::of(3, 8, {1, 0, 2, 0, 1, 0, 0, 1,   //
                                     0, 1, 0, 2, 0, 1, 1, 0,   //
                                     1, 1, 0, 0, 2, 0, 1, 2},  //
                              DType::f64);
  const auto everything = std::make_shared<const zhuyi::kernels::AttentionMap>(
      zhuyi::kernels::AttentionMap{.blocks = {{0, 3, 0, 3}}, .causal = false, .key_rows = {}});
  std::vector<AttentionRecord> records;
  Run run;
  run.attention_records = &records;
  const Var output = attention.attend(Var(x), attention.keys_values(Var(x), run), everything, run);
  fmt::print("output [{}, {}]\n", output.rows(), output.columns());

  const Tensor weights = records.front().weights.reshape(2 * 3, 3);
  for (int head = 0; head < 2; ++head) {
    fmt::print("weights of head {}\n", head + 1);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) fmt::print("  {:.3f}", weights.at(3 * head + i, j));
      fmt::print("\n");
    }
  }
}
