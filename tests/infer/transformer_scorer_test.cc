// The Transformer as a scorer: its steps against the full pass, and the search's numbers against the scorer of given
// text.

#include "infer/translate_tokens.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "infer/small_translator.h"
#include "infer/translator.h"

namespace zhuyi::infer {
namespace {

std::vector<std::vector<std::int32_t>> some_sources(const formats::Model& model, std::int64_t count) {
  base::Random random(3);
  std::vector<std::vector<std::int32_t>> sources;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int32_t> source;
    for (std::int64_t n = random.below(12); n >= 0; --n) {
      source.push_back(static_cast<std::int32_t>(3 + random.below(model.source.size() - 3)));
    }
    source.push_back(model.source.eos());
    sources.push_back(source);
  }
  return sources;
}

SearchOptions short_search(const formats::Model& model) {
  SearchOptions options = search_options(model);
  options.max_length_extra = 8;
  return options;
}

// log softmax in f64 of a row of logits, from its definition.
std::vector<double> log_softmax_of(std::span<const float> logits) {
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  std::vector<double> result;
  for (const float x : logits) result.push_back(static_cast<double>(x) - std::log(sum));
  return result;
}

TEST(TransformerScorer, StepsGiveTheLogSoftmaxOfTheFullPass) {
  const formats::Model model = small_model();
  const std::vector<std::vector<std::int32_t>> sources = some_sources(model, 3);
  const std::vector<std::int32_t> target = {20, 30, 40, 50};
  TransformerScorer scorer(*model.transformer, sources);
  ASSERT_EQ(scorer.vocabulary(), model.target.size());
  for (std::int64_t sentence = 0; sentence < 3; ++sentence) {
    nn::Tokens source;
    nn::Tokens tokens;
    source.append(sources[static_cast<std::size_t>(sentence)]);
    tokens.append(target);
    autograd::Run run;
    const nn::Transformer& transformer = *model.transformer;
    const tensor::Tensor logits =
        transformer.logits(transformer.decode(tokens, transformer.encode(source, run), run).value());
    for (std::size_t i = 0; i < target.size(); ++i) {
      const HypothesisStep step{
          .sentence = sentence, .parent = i == 0 ? kNoParent : 0, .token = i == 0 ? transformer.bos() : target[i - 1]};
      scorer.step({&step, 1});
      const kernels::ConstMatrix<float> row = scorer.log_probabilities(0, 1);
      const auto expected =
          log_softmax_of(logits.slice(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1).data<float>());
      for (std::size_t token = 0; token < expected.size(); ++token) {
        ASSERT_NEAR(row.row(0)[token], expected[token], 2e-5) << "sentence " << sentence << " step " << i;
      }
    }
  }
}

TEST(TransformerScorer, TheSearchAndTheScorerAgreeOnEveryToken) {
  const formats::Model model = small_model();
  const std::vector<std::vector<std::int32_t>> sources = some_sources(model, 9);
  SearchOptions options = short_search(model);
  options.n_best = 3;
  const auto found = translate_tokens(*model.transformer, sources, options);
  std::vector<std::vector<std::int32_t>> repeated;
  std::vector<std::vector<std::int32_t>> targets;
  std::vector<Hypothesis> hypotheses;
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      repeated.push_back(sources[i]);
      targets.push_back(hypothesis.tokens);
      if (hypothesis.finished) targets.back().push_back(options.eos);
      hypotheses.push_back(hypothesis);
    }
  }
  ASSERT_GE(hypotheses.size(), 9u);
  const Member member{model.transformer.get()};
  const auto scored = score_tokens({&member, 1}, repeated, targets);
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    ASSERT_EQ(scored[i].size(), hypotheses[i].token_log_probabilities.size());
    double sum = 0;
    for (std::size_t t = 0; t < scored[i].size(); ++t) {
      EXPECT_NEAR(scored[i][t], hypotheses[i].token_log_probabilities[t], 1e-5);
      sum += static_cast<double>(scored[i][t]);
    }
    EXPECT_NEAR(sum, hypotheses[i].log_probability, 1e-4);
  }
}

TEST(TransformerScorer, BatchesAndThreadsChangeNoBit) {
  const formats::Model model = small_model();
  const std::vector<std::vector<std::int32_t>> sources = some_sources(model, 40);
  const Member member{model.transformer.get()};
  SearchOptions options = short_search(model);
  options.n_best = 3;
  options.coverage_penalty = 0.2;
  const int threads = base::threads();
  base::set_threads(1);
  std::vector<std::vector<Hypothesis>> alone;
  std::vector<std::vector<float>> scored_alone;
  std::vector<std::vector<std::int32_t>> targets;
  for (const std::vector<std::int32_t>& source : sources) {
    alone.push_back(translate_tokens(*model.transformer, {&source, 1}, options)[0]);
    targets.push_back(alone.back()[0].tokens);
    targets.back().push_back(options.eos);
    scored_alone.push_back(score_tokens({&member, 1}, {&source, 1}, {&targets.back(), 1})[0]);
  }
  for (const int count : {1, 2, 8}) {
    base::set_threads(count);
    for (const std::int64_t size : {1, 2, 7, 64, 2000}) {
      const BatchLimits limits{.sentences = size};
      const auto found = translate_tokens(*model.transformer, sources, options, limits);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        ASSERT_EQ(found[i], alone[i]) << "batch " << size << ", " << count << " threads, source " << i;
      }
      ASSERT_EQ(score_tokens({&member, 1}, sources, targets, limits), scored_alone);
    }
  }
  base::set_threads(threads);
}

TEST(TransformerScorer, StopsBetweenBatchesWhenAsked) {
  const formats::Model model = small_model();
  const std::vector<std::vector<std::int32_t>> sources = some_sources(model, 4);
  const BatchLimits limits{.sentences = 1, .interrupted = [] { return true; }};
  try {
    translate_tokens(*model.transformer, sources, short_search(model), limits);
    FAIL() << "expected an error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::interrupted);
  }
}

}  // namespace
}  // namespace zhuyi::infer
