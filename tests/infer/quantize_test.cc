// Quantised models: near the model they were made from, the same answer in any batch, and whole after a file.

#include "infer/quantize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "infer/small_translator.h"
#include "infer/translate_tokens.h"
#include "infer/translator.h"
#include "kernels/precision.h"
#include "kernels/targets.h"
#include "temporary_folder.h"

namespace zhuyi::infer {
namespace {

using kernels::Precision;
using Sentences = std::vector<std::vector<std::int32_t>>;

Sentences some_sources(const formats::Model& model, std::int64_t count) {
  base::Random random(5);
  Sentences sources;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int32_t>& source = sources.emplace_back();
    for (std::int64_t n = random.below(20); n >= 0; --n) {
      source.push_back(static_cast<std::int32_t>(3 + random.below(model.source.size() - 3)));
    }
    source.push_back(model.source.eos());
  }
  return sources;
}

std::vector<std::vector<Hypothesis>> found_by(const formats::Model& model, const Sentences& sources,
                                              const BatchLimits& limits) {
  SearchOptions options = search_options(model);
  options.n_best = 3;
  options.max_length_extra = 6;
  return translate_tokens(*model.transformer, sources, options, limits);
}

std::vector<std::vector<Hypothesis>> found_by(const formats::Model& model, const Sentences& sources,
                                              std::int64_t batch) {
  return found_by(model, sources, BatchLimits{.sentences = batch});
}

void expect_same(const std::vector<Hypothesis>& a, const std::vector<Hypothesis>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].tokens, b[i].tokens) << what;
    EXPECT_EQ(a[i].score, b[i].score) << what;
    EXPECT_EQ(a[i].token_log_probabilities, b[i].token_log_probabilities) << what;
  }
}

class Quantised : public testing::TestWithParam<Precision> {
 protected:
  void TearDown() override {
    kernels::use_target("");
    base::set_threads(threads_);
  }
  const int threads_ = base::threads();
};

TEST_P(Quantised, SameAnswerInAnyBatchOrderAndNumberOfThreads) {
  const formats::Model model = quantize(small_model(), GetParam());
  model.transformer->pack();
  const Sentences sources = some_sources(model, 40);
  base::set_threads(1);
  const auto alone = found_by(model, sources, 1);
  for (const int threads : {1, 2, 8}) {
    base::set_threads(threads);
    for (const std::int64_t batch : {2, 7, 64, 2000}) {
      const auto found = found_by(model, sources, batch);
      for (std::size_t i = 0; i < sources.size(); ++i) expect_same(found[i], alone[i], fmt::format("batch {}", batch));
    }
  }
  const auto found = found_by(model, Sentences(sources.rbegin(), sources.rend()), 7);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    expect_same(found[sources.size() - 1 - i], alone[i], "in reverse order");
  }
}

// However few fit into the memory at a time, down to one sentence that alone needs more.
TEST_P(Quantised, SameAnswerInAnyMemory) {
  const formats::Model model = quantize(small_model(), GetParam());
  model.transformer->pack();
  const Sentences sources = some_sources(model, 20);
  const auto unlimited = found_by(model, sources, 64);
  for (const std::int64_t memory : {1, 100'000, 1'000'000}) {
    const auto found = found_by(model, sources, {.sentences = 64, .memory = memory});
    for (std::size_t i = 0; i < sources.size(); ++i) {
      expect_same(found[i], unlimited[i], fmt::format("within {} bytes", memory));
    }
  }
  EXPECT_THROW(found_by(model, sources, {.memory = -1}), base::Error);
}

// A key and a value of each layer's heads: 2 d_model numbers a layer, of 4 bytes, or 2 once quantised.
TEST_P(Quantised, KeysAndValuesTakeHalfTheMemory) {
  const formats::Model model = quantize(small_model(), GetParam());
  const nn::Config& config = model.transformer->config();
  const std::int64_t bytes = GetParam() == Precision::f32 ? 4 : 2;
  EXPECT_EQ(model.transformer->bytes_of_keys_and_values(), config.decoder_layers * 2 * config.d_model * bytes);
}

TEST_P(Quantised, ComesBackFromAFileAsItWas) {
  const TemporaryFolder folder;
  const formats::Model model = quantize(small_model(), GetParam());
  formats::save_model(folder / "quantised.safetensors", model);
  const formats::Model loaded = formats::load_model(folder / "quantised.safetensors");
  EXPECT_EQ(loaded.transformer->stored_as(), kernels::name_of(GetParam()));
  model.transformer->pack();
  loaded.transformer->pack();
  const Sentences sources = some_sources(model, 10);
  const auto before = found_by(model, sources, 4);
  const auto after = found_by(loaded, sources, 4);
  for (std::size_t i = 0; i < sources.size(); ++i) expect_same(after[i], before[i], "loaded");
}

TEST_P(Quantised, ScoresOfGivenTextAreThoseOfTheSearch) {
  const formats::Model model = quantize(small_model(), GetParam());
  model.transformer->pack();
  const Sentences sources = some_sources(model, 10);
  SearchOptions options = search_options(model);
  options.n_best = 3;
  options.max_length_extra = 6;
  // So few pieces that translations end, which this model seldom lets them.
  for (std::int32_t id = 40; id < model.target.size(); ++id) options.suppressed.push_back(id);
  const auto found = translate_tokens(*model.transformer, sources, options, BatchLimits{.sentences = 4});
  const Member member{model.transformer.get()};
  int compared = 0;
  int finished = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (const Hypothesis& hypothesis : found[i]) {
      Sentences target = {hypothesis.tokens};
      if (hypothesis.finished) target[0].push_back(model.target.eos());
      const auto scores = score_tokens({&member, 1}, {&sources[i], 1}, target);
      double total = 0;
      for (const float score : scores[0]) total += static_cast<double>(score);
      EXPECT_NEAR(total, hypothesis.log_probability, 1e-4);
      ++compared;
      finished += hypothesis.finished ? 1 : 0;
    }
  }
  EXPECT_EQ(compared, 30);
  EXPECT_GE(finished, 20);
}

// Rounding a weight to 8 bits moves it by at most half a step of its column, 1/254 of the largest; bf16 by 1/256 of
// itself. Logits of a small model move by about as small a share.
TEST_P(Quantised, StaysNearTheModelItWasMadeFrom) {
  const formats::Model model = small_model();
  const formats::Model quantised = quantize(model, GetParam());
  quantised.transformer->pack();
  const Sentences sources = some_sources(model, 20);
  TransformerScorer full(*model.transformer, sources);
  TransformerScorer small(*quantised.transformer, sources);
  std::vector<HypothesisStep> first;
  for (std::int64_t i = 0; i < 20; ++i) first.push_back({i, kNoParent, model.transformer->bos()});
  full.step(first);
  small.step(first);
  const auto wanted = full.log_probabilities(0, 20);
  const auto found = small.log_probabilities(0, 20);
  double difference = 0;
  double spread = 0;
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::int64_t j = 0; j < wanted.columns; ++j) {
      difference += std::pow(static_cast<double>(wanted(i, j)) - static_cast<double>(found(i, j)), 2);
      spread +=
          std::pow(static_cast<double>(wanted(i, j)) - static_cast<double>(wanted(i, (j + 1) % wanted.columns)), 2);
    }
  }
  EXPECT_LT(std::sqrt(difference / spread), 0.05);
  if (GetParam() == Precision::f32) {
    EXPECT_EQ(difference, 0);
  } else {
    EXPECT_GT(difference, 0);  // or nothing was rounded
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, Quantised, testing::Values(Precision::f32, Precision::bf16, Precision::int8),
                         [](const auto& info) {
                           return info.param == Precision::f32    ? "f32"
                                  : info.param == Precision::bf16 ? "bf16"
                                                                  : "int8";
                         });

// Sums of products with 8-bit weights are the same on every instruction set; what is f32 (attention, norms, the other
// products) differs in the last bits. So texts are the same unless two candidates are nearer than that.
void expect_same_text_on_every_path(Precision precision) {
  const formats::Model model = quantize(small_model(), precision);
  const Sentences sources = some_sources(model, 20);
  const auto best = found_by(model, sources, 8);
  const std::vector<std::string> paths = kernels::available_paths();
  std::size_t clear = 0;  // texts that are better than the next by more than that
  for (const std::string& path : paths) {
    kernels::use_path(path);
    const auto found = found_by(model, sources, 8);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      EXPECT_NEAR(found[i][0].score, best[i][0].score, 1e-4) << path;
      if (best[i].size() > 1 && best[i][0].score - best[i][1].score > 1e-4) {
        ++clear;
        EXPECT_EQ(found[i][0].tokens, best[i][0].tokens) << path;
      }
    }
  }
  kernels::use_path(paths.front());
  EXPECT_GE(clear, 10 * paths.size());
}

TEST(QuantisedInt8, GivesTheSameTextOnEveryInstructionSet) { expect_same_text_on_every_path(Precision::int8); }
TEST(QuantisedF32, GivesTheSameTextOnEveryInstructionSet) { expect_same_text_on_every_path(Precision::f32); }

TEST(QuantisedInt8, IsSmallAndCannotBeQuantisedAgainOrTrained) {
  const formats::Model full = small_model();
  const formats::Model model = quantize(full, Precision::int8);
  std::int64_t f32 = 0;
  for (const autograd::ParameterPtr& parameter : model.transformer->parameters().list()) {
    if (parameter->in_block) f32 += parameter->rows * parameter->columns;
  }
  EXPECT_LT(10 * f32, full.transformer->parameters().count());  // biases and norms
  EXPECT_THROW(quantize(model, Precision::bf16), base::Error);
  const Sentences sources = some_sources(model, 2);
  nn::Batch batch;
  for (const auto& source : sources) {
    batch.source.append(source);
    batch.target.append(source);
  }
  autograd::Gradients gradients(model.transformer->parameters());
  autograd::Tape tape(gradients);
  autograd::Run run(tape);
  EXPECT_THROW(model.transformer->loss(batch, run), base::Error);
}

}  // namespace
}  // namespace zhuyi::infer
