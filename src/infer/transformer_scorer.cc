#include "infer/transformer_scorer.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "kernels/rows.h"

namespace zhuyi::infer {
namespace {

nn::DecoderState start(const nn::Transformer& model, std::span<const std::vector<std::int32_t>> sources) {
  nn::Tokens tokens;
  for (const std::vector<std::int32_t>& source : sources) tokens.append(source);
  autograd::Run run;
  return model.start(model.encode(tokens, run));
}

// Indices of the sources, longest first, cut into batches.
std::vector<std::vector<std::size_t>> batches_of(std::span<const std::vector<std::int32_t>> sources,
                                                 const BatchLimits& limits) {
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sources[a].size() > sources[b].size(); });
  std::vector<std::vector<std::size_t>> batches;
  std::int64_t tokens = 0;
  for (const std::size_t i : order) {
    const auto length = static_cast<std::int64_t>(sources[i].size());
    if (batches.empty() || static_cast<std::int64_t>(batches.back().size()) >= limits.sentences ||
        tokens + length > limits.source_tokens) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += length;
  }
  return batches;
}

void check_limits(const BatchLimits& limits) {
  base::check(limits.sentences >= 1 && limits.source_tokens >= 1,
              "batches of {} sentences and {} tokens, expected 1 or more", limits.sentences, limits.source_tokens);
}

// Calls body(batch) for every batch, in parallel.
template <class Body>
void for_each_batch(std::span<const std::vector<std::size_t>> batches, const BatchLimits& limits, const Body& body) {
  base::parallel_for(static_cast<std::int64_t>(batches.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto b = static_cast<std::size_t>(begin); b < static_cast<std::size_t>(end); ++b) {
      const bool stop = limits.interrupted && limits.interrupted();
      base::check_kind(!stop, base::ErrorKind::interrupted, "stopped before the end");
      body(batches[b]);
    }
  });
}

}  // namespace

TransformerScorer::TransformerScorer(const nn::Transformer& model, std::span<const std::vector<std::int32_t>> sources)
    : model_(model), state_(start(model, sources)) {}

kernels::ConstMatrix<float> TransformerScorer::step(std::span<const HypothesisStep> live) {
  std::vector<std::int32_t> tokens;
  std::vector<nn::Continuation> hypotheses;
  for (const HypothesisStep& hypothesis : live) {
    tokens.push_back(hypothesis.token);
    hypotheses.push_back({hypothesis.sentence, hypothesis.parent});
  }
  logits_ = model_.step(tokens, hypotheses, state_);
  kernels::log_softmax<float>(logits_.matrix<float>());
  return logits_.matrix<float>();
}

std::vector<std::vector<Hypothesis>> translate_tokens(const nn::Transformer& model,
                                                      std::span<const std::vector<std::int32_t>> sources,
                                                      const SearchOptions& options, const BatchLimits& limits) {
  check_limits(limits);
  std::vector<std::vector<Hypothesis>> results(sources.size());
  for_each_batch(batches_of(sources, limits), limits, [&](const std::vector<std::size_t>& indices) {
    std::vector<std::vector<std::int32_t>> batch;
    std::vector<std::int64_t> lengths;
    for (const std::size_t i : indices) {
      batch.push_back(sources[i]);
      lengths.push_back(static_cast<std::int64_t>(sources[i].size()));
    }
    TransformerScorer scorer(model, batch);
    std::vector<std::vector<Hypothesis>> found = beam_search(scorer, lengths, options);
    for (std::size_t i = 0; i < indices.size(); ++i) results[indices[i]] = std::move(found[i]);
  });
  return results;
}

std::vector<std::vector<float>> score_tokens(const nn::Transformer& model,
                                             std::span<const std::vector<std::int32_t>> sources,
                                             std::span<const std::vector<std::int32_t>> targets,
                                             const BatchLimits& limits) {
  check_limits(limits);
  base::check(sources.size() == targets.size(), "score: {} sources and {} targets", sources.size(), targets.size());
  std::vector<std::vector<float>> results(sources.size());
  for_each_batch(batches_of(sources, limits), limits, [&](const std::vector<std::size_t>& indices) {
    nn::Batch batch;
    for (const std::size_t i : indices) {
      batch.source.append(sources[i]);
      batch.target.append(targets[i]);
    }
    const tensor::Tensor nll = model.nll(batch);
    const std::span<const float> numbers = nll.data<float>();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto sentence = static_cast<std::int64_t>(i);
      std::vector<float>& result = results[indices[i]];
      for (std::int64_t row = batch.target.sentences.begin(sentence); row < batch.target.sentences.end(sentence);
           ++row) {
        result.push_back(-numbers[static_cast<std::size_t>(row)]);
      }
    }
  });
  return results;
}

}  // namespace zhuyi::infer
