// Decoding token by token, with a cache, gives what the pass over the whole sentence gives.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models.h"

namespace zhuyi::nn {
namespace {

using tensor::DType;
using tensor::Tensor;

struct Variant {
  const char* name;
  void (*change)(Config&);
};

constexpr Variant kVariants[] = {
    {"post", [](Config&) {}},
    {"pre", [](Config& c) { c.norm_placement = NormPlacement::pre; }},
    {"learned", [](Config& c) { c.positions = Positions::learned, c.max_positions = 8; }},
    {"gaussian", [](Config& c) { c.similarity = kernels::Similarity::gaussian, c.bandwidth = 2; }},
    {"widths", [](Config& c) { c.d_k = 5, c.d_v = 3, c.biases = false, c.output_bias = true, c.tying = Tying::none; }},
    {"gated_rms",
     [](Config& c) {
       c.gated = true, c.activation = kernels::Activation::silu, c.norm = NormKind::rms;
       c.norm_placement = NormPlacement::pre, c.positions = Positions::halves_marian;
     }},
};

class Decoding : public testing::TestWithParam<std::tuple<Variant, DType>> {};

// A hypothesis that lives: its sentence, what it has been fed (bos first), and which hypothesis of the last step it
// was.
struct Live {
  std::int64_t sentence;
  std::vector<std::int32_t> fed;
  std::int64_t parent;
};

constexpr std::int64_t kFirstStep[] = {0, 0, 3, 5};  // of each sentence: some join when others are under way
constexpr std::int64_t kLastStep[] = {6, 2, 4, 7};

// Three hypotheses for each sentence still translated, each continuing one of the last step's at random, so that some
// are doubled, some are dropped, and their order changes.
std::vector<Live> next_step(const std::vector<Live>& last, std::int64_t step, base::Random& random) {
  std::vector<Live> next;
  for (std::int64_t sentence = 0; sentence < 4; ++sentence) {
    if (step == kFirstStep[sentence]) next.push_back({sentence, {kBos}, -1});
    if (step <= kFirstStep[sentence] || step > kLastStep[sentence]) continue;
    std::vector<std::int64_t> parents;
    for (std::size_t i = 0; i < last.size(); ++i) {
      if (last[i].sentence == sentence) parents.push_back(static_cast<std::int64_t>(i));
    }
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::int64_t parent =
          parents[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(parents.size())))];
      Live live{sentence, last[static_cast<std::size_t>(parent)].fed, parent};
      live.fed.push_back(3 + static_cast<std::int32_t>(random.below(40)));
      next.push_back(std::move(live));
    }
  }
  return next;
}

// The logits after everything that a hypothesis was fed, from one pass over all.
std::vector<std::vector<double>> full_pass(const Transformer& model,
                                           const std::vector<std::vector<std::int32_t>>& sources,
                                           const std::vector<Live>& hypotheses) {
  Batch batch;
  for (const Live& live : hypotheses) {
    batch.source.append(sources[static_cast<std::size_t>(live.sentence)]);
    std::vector<std::int32_t> target(live.fed.begin() + 1, live.fed.end());
    target.push_back(kEos);  // is not fed
    batch.target.append(target);
  }
  Run run;
  const Tensor logits = model.logits(model.decode(batch.target, model.encode(batch.source, run), run).value());
  std::vector<std::vector<double>> rows;
  for (std::int64_t i = 0; i < batch.target.sentences.count(); ++i) {
    std::vector<double> row;
    for (std::int64_t j = 0; j < logits.columns(); ++j) row.push_back(logits.at(batch.target.sentences.end(i) - 1, j));
    rows.push_back(std::move(row));
  }
  return rows;
}

TEST_P(Decoding, StepEqualsRowOfTheFullPass) {
  const auto& [variant, dtype] = GetParam();
  Config config = small_config();
  variant.change(config);
  Transformer model(config, kBos, 1, dtype);
  randomize(model, 2, 0.1);
  std::vector<std::vector<std::int32_t>> sources;
  for (const std::int64_t length : {5, 1, 8, 3}) sources.push_back(sentence(length, 3, 40, base::combine(4, length)));
  autograd::Run run;
  DecoderState state;
  base::Random random(5);
  std::vector<Live> live;
  for (std::int64_t step = 0; step < 8; ++step) {
    Tokens joining;
    std::vector<std::int64_t> left;
    for (std::size_t i = 0; i < 4; ++i) {
      if (step == kFirstStep[i]) joining.append(sources[i]);
      if (step > kLastStep[i]) left.push_back(static_cast<std::int64_t>(i));
    }
    if (joining.sentences.count() > 0) model.join(model.encode(joining, run), left, state);
    live = next_step(live, step, random);
    std::vector<std::int32_t> tokens;
    std::vector<Continuation> continuations;
    for (const Live& hypothesis : live) {
      tokens.push_back(hypothesis.fed.back());
      continuations.push_back({hypothesis.sentence, hypothesis.parent});
    }
    const Tensor logits = model.logits(model.step(tokens, continuations, state));
    const auto expected = full_pass(model, sources, live);
    ASSERT_EQ(logits.rows(), static_cast<std::int64_t>(live.size()));
    for (std::size_t i = 0; i < live.size(); ++i) {
      double largest = 0;
      for (const double x : expected[i]) largest = std::max(largest, std::abs(x));
      for (std::int64_t j = 0; j < logits.columns(); ++j) {
        ASSERT_NEAR(logits.at(static_cast<std::int64_t>(i), j), expected[i][static_cast<std::size_t>(j)],
                    largest * (dtype == DType::f32 ? 1e-5 : 1e-12))
            << "step " << step << ", hypothesis " << i << ", piece " << j;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, Decoding,
                         testing::Combine(testing::ValuesIn(kVariants), testing::Values(DType::f32, DType::f64)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  tensor::name_of(std::get<1>(info.param));
                         });

TEST(DecodingErrors, AreErrorsAndNotCrashes) {
  const Transformer model(small_config(), kBos, 1);
  Tokens source;
  source.append(sentence(3, 3, 40, 1));
  autograd::Run run;
  DecoderState state = model.start(model.encode(source, run));
  const std::vector<std::int32_t> token = {kBos};
  EXPECT_THROW(model.step(token, {}, state), base::Error);
  for (const std::int64_t sentence : {-1, 1}) {
    const std::vector<Continuation> wrong = {{sentence, -1}};
    EXPECT_THROW(model.step(token, wrong, state), base::Error) << sentence;
  }
  const std::vector<Continuation> orphan = {{0, 0}};
  EXPECT_THROW(model.step(token, orphan, state), base::Error);
  const std::vector<std::int32_t> unknown = {50};
  const std::vector<Continuation> first = {{0, -1}};
  EXPECT_THROW(model.step(unknown, first, state), base::Error);
  EXPECT_EQ(model.step(token, first, state).rows(), 1);
  const std::vector<std::int64_t> unknown_sentence = {1};
  EXPECT_THROW(model.join(model.encode(source, run), unknown_sentence, state), base::Error);
  const std::vector<std::int64_t> left = {0};
  model.join(model.encode(source, run), left, state);
  EXPECT_EQ(state.joined(), 2);
  EXPECT_THROW(state.source_length(0), base::Error);
  EXPECT_EQ(state.source_length(1), 3);
  EXPECT_THROW(model.step(token, first, state), base::Error) << "the sentence has left";
}

TEST(DecodingErrors, EmptyAndUnequalBatches) {
  const Transformer model(small_config(), kBos, 1);
  autograd::Run run;
  Tokens empty;
  empty.append({});
  EXPECT_THROW(model.encode(empty, run), base::Error);
  Tokens two;
  two.append(sentence(3, 3, 40, 1));
  two.append(sentence(2, 3, 40, 1));
  Tokens one;
  one.append(sentence(3, 3, 40, 1));
  EXPECT_THROW(model.nll({two, one}), base::Error);
}

}  // namespace
}  // namespace zhuyi::nn
