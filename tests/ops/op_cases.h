#pragma once
// One table of the operations of ops.h: a row gives an operation's correctness test, its gradient test and its
// benchmark.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kernels/reference.h"
#include "ops/ops.h"

namespace zhuyi::ops {

using autograd::ParameterPtr;

struct Shape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  std::int64_t size() const { return rows * columns; }
};

// Matrices in double, row after row.
using Values = std::vector<std::vector<double>>;

// An operation at one size.
struct OpCase {
  std::vector<Shape> inputs;
  std::vector<Shape> parameters;
  std::function<Var(std::span<const Var>, std::span<const ParameterPtr>, Run&)> apply;
  std::function<std::vector<double>(const Values& inputs, const Values& parameters)> expected;  // plain loops
  double multiply_adds = 0;  // of the forward side; 0: what counts is the number of elements
  bool is_loss = false;      // it is what backward begins with: nothing may follow
};

// A row of the table: what makes the operation's case at a size.
struct OpRow {
  std::string name;
  std::function<OpCase(std::int64_t rows, std::int64_t columns)> make;
};

// The key of all dropout of the table.
inline constexpr std::uint64_t kDropoutKey = 20170612;

namespace op_cases {

using kernels::ConstMatrix;
using kernels::Matrix;

inline ConstMatrix<double> matrix(const std::vector<double>& x, const Shape& shape) {
  return ConstMatrix<double>::dense(x.data(), shape.rows, shape.columns);
}
inline Matrix<double> matrix(std::vector<double>& x, const Shape& shape) {
  return Matrix<double>::dense(x.data(), shape.rows, shape.columns);
}
inline std::vector<double> zeros(const Shape& shape) {
  return std::vector<double>(static_cast<std::size_t>(shape.size()));
}

// The mask that the first operation with dropout in a run uses.
inline kernels::Dropout mask(double rate) { return {rate, base::combine(kDropoutKey, 1)}; }

// x w + bias, where w is stored [in, out] or, transposed, [out, in]; bias may be null.
inline std::vector<double> product(const std::vector<double>& x, const Shape& shape, const std::vector<double>& w,
                                   std::int64_t outputs, bool transposed, const std::vector<double>* bias) {
  const Shape result{shape.rows, outputs};
  std::vector<double> out = zeros(result);
  const Shape stored = transposed ? Shape{outputs, shape.columns} : Shape{shape.columns, outputs};
  const ConstMatrix<double> right = transposed ? matrix(w, stored).transposed() : matrix(w, stored);
  kernels::reference::gemm<double>(matrix(x, shape), right, matrix(out, result),
                                   {.bias = bias != nullptr ? bias->data() : nullptr});
  return out;
}

inline OpCase linear_case(std::int64_t rows, std::int64_t columns, bool transposed, bool with_bias) {
  const Shape shape{rows, columns};
  const std::int64_t outputs = 2 * columns;
  OpCase c;
  c.inputs = {shape};
  c.parameters = {transposed ? Shape{outputs, columns} : Shape{columns, outputs}};
  if (with_bias) c.parameters.push_back({1, outputs});
  c.apply = [=](std::span<const Var> in, std::span<const ParameterPtr> p, Run& run) {
    return linear(in[0], Weight{p[0], transposed}, with_bias ? p[1] : nullptr, run);
  };
  c.expected = [=](const Values& in, const Values& p) {
    return product(in[0], shape, p[0], outputs, transposed, with_bias ? &p[1] : nullptr);
  };
  c.multiply_adds = static_cast<double>(rows * columns * outputs);
  return c;
}

inline OpCase embedding_case(std::int64_t rows, std::int64_t columns) {
  const Shape table{rows + 2, columns};
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < rows; ++i) ids.push_back(static_cast<std::int32_t>((7 * i * i + 1) % table.rows));
  OpCase c;
  c.parameters = {table};
  c.apply = [=](std::span<const Var>, std::span<const ParameterPtr> p, Run& run) {
    return embedding(Weight(p[0], true), ids, 1.5, run);
  };
  c.expected = [=](const Values&, const Values& p) {
    std::vector<double> out = zeros({rows, columns});
    kernels::reference::gather_rows<double>(matrix(p[0], table), ids, 1.5, matrix(out, {rows, columns}));
    return out;
  };
  return c;
}

// An operation on `count` matrices of one shape, each element by itself.
inline OpCase elementwise_case(std::int64_t rows, std::int64_t columns, std::size_t count,
                               std::function<Var(std::span<const Var>, Run&)> apply,
                               std::function<std::vector<double>(const Values&)> expected) {
  OpCase c;
  c.inputs.assign(count, {rows, columns});
  c.apply = [=](std::span<const Var> in, std::span<const ParameterPtr>, Run& run) { return apply(in, run); };
  c.expected = [=](const Values& in, const Values&) { return expected(in); };
  return c;
}

inline OpCase add_case(std::int64_t rows, std::int64_t columns, bool same) {
  return elementwise_case(
      rows, columns, same ? 1 : 2, [](std::span<const Var> in, Run& run) { return add(in.front(), in.back(), run); },
      [](const Values& in) {
        std::vector<double> out = in.front();
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += in.back()[i];
        return out;
      });
}

inline OpCase multiply_case(std::int64_t rows, std::int64_t columns, bool same) {
  return elementwise_case(
      rows, columns, same ? 1 : 2,
      [](std::span<const Var> in, Run& run) { return multiply(in.front(), in.back(), run); },
      [](const Values& in) {
        std::vector<double> out = in.front();
        for (std::size_t i = 0; i < out.size(); ++i) out[i] *= in.back()[i];
        return out;
      });
}

// With one input: x + dropout(x).
inline OpCase add_dropout_case(std::int64_t rows, std::int64_t columns, bool same) {
  return elementwise_case(
      rows, columns, same ? 1 : 2,
      [](std::span<const Var> in, Run& run) { return add_dropout(in.front(), in.back(), 0.3, run); },
      [](const Values& in) {
        std::vector<double> out = in.front();
        kernels::reference::add_dropout<double>(mask(0.3), in.back(), out);
        return out;
      });
}

inline OpCase dropout_case(std::int64_t rows, std::int64_t columns) {
  return elementwise_case(
      rows, columns, 1, [](std::span<const Var> in, Run& run) { return dropout(in[0], 0.3, run); },
      [](const Values& in) {
        std::vector<double> out = in[0];
        kernels::reference::dropout<double>(mask(0.3), in[0], out);
        return out;
      });
}

inline OpCase activate_case(std::int64_t rows, std::int64_t columns, Activation activation) {
  return elementwise_case(
      rows, columns, 1, [=](std::span<const Var> in, Run& run) { return activate(in[0], activation, run); },
      [=](const Values& in) {
        std::vector<double> out = in[0];
        kernels::reference::activate<double>(activation, in[0], out);
        return out;
      });
}

// The epsilon is large, so that rows of one or two numbers do not magnify rounding.
inline constexpr double kNormEpsilon = 1e-3;

inline OpCase layer_norm_case(std::int64_t rows, std::int64_t columns) {
  const Shape shape{rows, columns};
  OpCase c;
  c.inputs = {shape};
  c.parameters = {{1, columns}, {1, columns}};
  c.apply = [](std::span<const Var> in, std::span<const ParameterPtr> p, Run& run) {
    return layer_norm(in[0], p[0], p[1], kNormEpsilon, run);
  };
  c.expected = [=](const Values& in, const Values& p) {
    std::vector<double> out = zeros(shape);
    std::vector<double> mean = zeros({1, rows});
    std::vector<double> inverse_deviation = zeros({1, rows});
    kernels::reference::layer_norm<double>(matrix(in[0], shape), p[0], p[1], kNormEpsilon, matrix(out, shape), mean,
                                           inverse_deviation);
    return out;
  };
  return c;
}

inline OpCase rms_norm_case(std::int64_t rows, std::int64_t columns) {
  const Shape shape{rows, columns};
  OpCase c;
  c.inputs = {shape};
  c.parameters = {{1, columns}};
  c.apply = [](std::span<const Var> in, std::span<const ParameterPtr> p, Run& run) {
    return rms_norm(in[0], p[0], kNormEpsilon, run);
  };
  c.expected = [=](const Values& in, const Values& p) {
    std::vector<double> out = zeros(shape);
    std::vector<double> inverse_deviation = zeros({1, rows});
    kernels::reference::rms_norm<double>(matrix(in[0], shape), p[0], kNormEpsilon, matrix(out, shape),
                                         inverse_deviation);
    return out;
  };
  return c;
}

// self: one matrix is queries, keys and values. Otherwise each has its own; cross: with other lengths.
enum class Sources { self, apart, cross };

struct AttentionCase {
  kernels::Similarity similarity = kernels::Similarity::scaled_dot;
  Sources sources = Sources::apart;
  bool causal = false;
  double dropout = 0;
};

// Segments of different lengths that fill `rows`.
inline std::shared_ptr<const kernels::AttentionMap> map_of(std::int64_t rows, const AttentionCase& how) {
  constexpr std::int64_t kLengths[] = {3, 1, 8, 25, 40, 17};
  auto map = std::make_shared<kernels::AttentionMap>();
  map->causal = how.causal;
  std::int64_t key = 0;
  for (std::int64_t begin = 0, i = 0; begin < rows; ++i) {
    const std::int64_t end = std::min(rows, begin + kLengths[i % 6]);
    const std::int64_t keys = how.sources == Sources::cross ? (end - begin) / 2 + 1 + i % 3 : end - begin;
    map->blocks.push_back({begin, end, key, key + keys});
    begin = end;
    key += keys;
  }
  return map;
}

// Heads of width 64 where they fit (the benchmark), else two heads of `columns` each.
inline OpCase attention_case(std::int64_t rows, std::int64_t columns, const AttentionCase& how) {
  const bool wide = columns % 64 == 0;
  const bool self = how.sources == Sources::self;
  const std::int64_t heads = wide ? columns / 64 : 2;
  const std::int64_t d_k = wide ? 64 : columns;
  const std::int64_t d_v = wide || self ? d_k : columns + 1;
  const auto map = map_of(rows, how);
  const std::int64_t keys = map->blocks.back().key_end;
  AttentionOptions options;
  options.heads = heads;
  options.similarity = {how.similarity, std::sqrt(static_cast<double>(d_k))};
  options.dropout = how.dropout;
  const Shape q{rows, heads * d_k};
  const Shape k{keys, heads * d_k};
  const Shape v{keys, heads * d_v};
  OpCase c;
  c.inputs = self ? std::vector<Shape>{q} : std::vector<Shape>{q, k, v};
  c.apply = [=](std::span<const Var> in, std::span<const ParameterPtr>, Run& run) {
    return self ? attention(in[0], in[0], in[0], map, options, run) : attention(in[0], in[1], in[2], map, options, run);
  };
  c.expected = [=](const Values& in, const Values&) {
    std::vector<double> out = zeros({rows, v.columns});
    kernels::AttentionInputs<double> inputs{
        matrix(in.front(), q), matrix(in[self ? 0 : 1], k), matrix(in.back(), v), heads, options.similarity, {}};
    if (how.dropout > 0) inputs.dropout = mask(how.dropout);
    kernels::reference::attention<double>(inputs, *map, matrix(out, {rows, v.columns}), {});
    return out;
  };
  for (const kernels::AttentionBlock& block : map->blocks) {
    c.multiply_adds += static_cast<double>((block.query_end - block.query_begin) * (block.key_end - block.key_begin) *
                                           heads * (d_k + d_v));
  }
  return c;
}

inline OpCase projection_loss_case(std::int64_t rows, std::int64_t columns, bool transposed, bool with_bias,
                                   const kernels::Smoothing& smoothing) {
  const Shape shape{rows, columns};
  const std::int64_t vocabulary = columns % 64 == 0 ? 16 * columns : 2 * columns + 1;  // wide where speed is measured
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < rows; ++i) targets.push_back(static_cast<std::int32_t>((5 * i * i + 2) % vocabulary));
  OpCase c;
  c.inputs = {shape};
  c.parameters = {transposed ? Shape{vocabulary, columns} : Shape{columns, vocabulary}};
  if (with_bias) c.parameters.push_back({1, vocabulary});
  c.apply = [=](std::span<const Var> in, std::span<const ParameterPtr> p, Run& run) {
    return projection_loss(in[0], Weight{p[0], transposed}, with_bias ? p[1] : nullptr, targets, smoothing, run).total;
  };
  c.expected = [=](const Values& in, const Values& p) {
    std::vector<double> logits = product(in[0], shape, p[0], vocabulary, transposed, with_bias ? &p[1] : nullptr);
    std::vector<double> losses = zeros({1, rows});
    std::vector<double> nll = zeros({1, rows});
    kernels::reference::cross_entropy<double>(matrix(logits, {rows, vocabulary}), targets, smoothing, false, losses,
                                              nll);
    return std::vector<double>{kernels::reference::sum<double>(losses)};
  };
  c.multiply_adds = static_cast<double>(rows * columns * vocabulary);
  c.is_loss = true;
  return c;
}

inline void add_attention_rows(std::vector<OpRow>& table) {
  using kernels::Similarity;
  const std::pair<const char*, Similarity> similarities[] = {
      {"scaled-dot", Similarity::scaled_dot}, {"dot", Similarity::dot}, {"gaussian", Similarity::gaussian}};
  const std::pair<const char*, Sources> sources[] = {
      {"self", Sources::self}, {"apart", Sources::apart}, {"cross", Sources::cross}};
  for (const auto& [similarity_name, similarity] : similarities) {
    for (const auto& [source_name, source] : sources) {
      for (const bool causal : {false, true}) {
        if (causal && source == Sources::cross) continue;
        const AttentionCase how{similarity, source, causal, 0};
        table.push_back({fmt::format("attention {} {}{}", similarity_name, source_name, causal ? " causal" : ""),
                         [how](std::int64_t r, std::int64_t n) { return attention_case(r, n, how); }});
      }
    }
    const AttentionCase dropped{similarity, Sources::cross, false, 0.2};
    table.push_back({fmt::format("attention {} cross dropout", similarity_name),
                     [dropped](std::int64_t r, std::int64_t n) { return attention_case(r, n, dropped); }});
    const AttentionCase masked{similarity, Sources::self, true, 0.2};
    table.push_back({fmt::format("attention {} self causal dropout", similarity_name),
                     [masked](std::int64_t r, std::int64_t n) { return attention_case(r, n, masked); }});
  }
}

}  // namespace op_cases

inline std::vector<OpRow> op_table() {
  using namespace op_cases;
  std::vector<OpRow> table;
  const auto row = [&](std::string name, std::function<OpCase(std::int64_t, std::int64_t)> make) {
    table.push_back({std::move(name), std::move(make)});
  };
  for (const bool transposed : {false, true}) {
    for (const bool bias : {false, true}) {
      row(fmt::format("linear{}{}", transposed ? " transposed" : "", bias ? " bias" : ""),
          [=](std::int64_t r, std::int64_t n) { return linear_case(r, n, transposed, bias); });
    }
  }
  row("embedding", embedding_case);
  for (const bool same : {false, true}) {
    const char* suffix = same ? " same" : "";
    row(fmt::format("add{}", suffix), [=](std::int64_t r, std::int64_t n) { return add_case(r, n, same); });
    row(fmt::format("multiply{}", suffix), [=](std::int64_t r, std::int64_t n) { return multiply_case(r, n, same); });
    row(fmt::format("add_dropout{}", suffix),
        [=](std::int64_t r, std::int64_t n) { return add_dropout_case(r, n, same); });
  }
  row("dropout", dropout_case);
  const std::pair<const char*, Activation> activations[] = {{"identity", Activation::identity},
                                                            {"relu", Activation::relu},
                                                            {"gelu", Activation::gelu},
                                                            {"silu", Activation::silu}};
  for (const auto& [name, activation] : activations) {
    row(fmt::format("activate {}", name),
        [kind = activation](std::int64_t r, std::int64_t n) { return activate_case(r, n, kind); });
  }
  row("layer_norm", layer_norm_case);
  row("rms_norm", rms_norm_case);
  add_attention_rows(table);
  const std::pair<const char*, kernels::Smoothing> smoothings[] = {{"plain", {}},
                                                                   {"marian", {0.1, kernels::SmoothingForm::marian}},
                                                                   {"fairseq", {0.1, kernels::SmoothingForm::fairseq}}};
  for (const auto& [name, smoothing] : smoothings) {
    for (const bool transposed : {false, true}) {
      for (const bool bias : {false, true}) {
        row(fmt::format("projection_loss {}{}{}", name, transposed ? " transposed" : "", bias ? " bias" : ""),
            [=, smoothing = smoothing](std::int64_t r, std::int64_t n) {
              return projection_loss_case(r, n, transposed, bias, smoothing);
            });
      }
    }
  }
  return table;
}

}  // namespace zhuyi::ops
