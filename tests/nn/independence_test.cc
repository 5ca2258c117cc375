// A sentence's numbers are its own: the same bits alone, among others, in another order, on any number of threads, with
// packed weights, on every instruction set.

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/parallel.h"
#include "kernels/targets.h"
#include "models.h"

namespace zhuyi::nn {
namespace {

using autograd::Gradients;
using autograd::Tape;
using tensor::Tensor;

constexpr std::int64_t kSentences = 12;
constexpr std::int64_t kIds = 6;  // of each sentence, used by no other
constexpr std::int64_t kLengths[kSentences] = {1, 7, 33, 20, 2, 65, 17, 3, 40, 5, 28, 9};

std::int32_t first_id(std::int64_t i) { return 3 + static_cast<std::int32_t>(i * kIds); }

std::vector<std::int32_t> source_of(std::int64_t i) {
  return sentence(kLengths[i], first_id(i), kIds, base::combine(1, i));
}

std::vector<std::int32_t> target_of(std::int64_t i) {
  std::vector<std::int32_t> ids = sentence(kLengths[kSentences - 1 - i], first_id(i), kIds, base::combine(2, i));
  ids.push_back(kEos);
  return ids;
}

std::unique_ptr<Transformer> model_of(NormPlacement placement) {
  Config config;
  config.source_vocabulary = config.target_vocabulary = 3 + kSentences * kIds;
  config.d_model = 64;
  config.d_ff = 136;
  config.heads = 4;
  config.encoder_layers = config.decoder_layers = 2;
  config.dropout = 0;
  config.tying = Tying::none;
  config.norm_placement = placement;
  config.output_bias = true;
  auto model = std::make_unique<Transformer>(config, kBos, 3);
  randomize(*model, 4, 0.02);
  return model;
}

// Everything about one sentence that must not depend on others, as bytes by name.
using Fingerprint = std::map<std::string, std::string>;

// Feeds each sentence its target, two hypotheses a sentence (one behind the other by a token), and keeps all logits.
void add_steps(const Transformer& model, const std::vector<std::int64_t>& order, const Tokens& source,
               std::map<std::int64_t, Fingerprint>& found) {
  autograd::Run run;
  DecoderState state = model.start(model.encode(source, run));
  std::vector<std::int64_t> last;  // the sentence of each hypothesis of the last step
  for (std::size_t step = 0; step < 12; ++step) {
    std::vector<std::int32_t> tokens;
    std::vector<Continuation> hypotheses;
    std::vector<std::int64_t> now;
    for (std::size_t at = 0; at < order.size(); ++at) {
      const std::vector<std::int32_t> target = target_of(order[at]);
      if (step >= target.size()) continue;
      const auto parent = std::find(last.begin(), last.end(), order[at]);
      for (std::int64_t copy = 0; copy < 2; ++copy) {
        const std::int64_t number = parent == last.end() ? -1 : parent - last.begin() + (copy == 0 ? 1 : 0);
        tokens.push_back(step == 0 ? kBos : target[step - 1]);
        hypotheses.push_back({static_cast<std::int64_t>(at), number});
        now.push_back(order[at]);
      }
    }
    if (tokens.empty()) break;
    const Tensor logits = model.logits(model.step(tokens, hypotheses, state));
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      found[now[i]][fmt::format("step {}", step)] += bytes_of(logits, row, row + 1);
    }
    last = std::move(now);
  }
}

std::map<std::int64_t, Fingerprint> fingerprints(const Transformer& model, const std::vector<std::int64_t>& order) {
  Batch batch;
  for (const std::int64_t i : order) {
    batch.source.append(source_of(i));
    batch.target.append(target_of(i));
  }
  Gradients gradients(model.parameters());
  Tape tape(gradients);
  autograd::Run recorded(tape);
  tape.backward(model.loss(batch, recorded).total);
  const Tensor source_gradient = gradients.of(*model.parameters().find("source_embedding"));
  const Tensor target_gradient = gradients.of(*model.parameters().find("target_embedding"));
  const Tensor nll = model.nll(batch);
  autograd::Run run;
  const Memory memory = model.encode(batch.source, run);
  const Tensor logits = model.logits(model.decode(batch.target, memory, run).value());
  std::map<std::int64_t, Fingerprint> found;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const auto p = static_cast<std::int64_t>(at);
    const std::int64_t i = order[at];
    const tensor::Segments& targets = batch.target.sentences;
    found[i]["nll"] = bytes_of(nll, targets.begin(p), targets.end(p));
    found[i]["logits"] = bytes_of(logits, targets.begin(p), targets.end(p));
    found[i]["memory"] =
        bytes_of(memory.states.value(), batch.source.sentences.begin(p), batch.source.sentences.end(p));
    found[i]["source gradient"] = bytes_of(source_gradient, first_id(i), first_id(i) + kIds);
    found[i]["target gradient"] = bytes_of(target_gradient, first_id(i), first_id(i) + kIds);
  }
  add_steps(model, order, batch.source, found);
  return found;
}

void expect_same(const std::map<std::int64_t, Fingerprint>& found, const std::map<std::int64_t, Fingerprint>& expected,
                 const std::string& what) {
  for (const auto& [sentence, fingerprint] : found) {
    for (const auto& [name, bytes] : fingerprint) {
      EXPECT_TRUE(bytes == expected.at(sentence).at(name)) << what << ": " << name << " of sentence " << sentence;
    }
  }
}

class Independence : public testing::TestWithParam<NormPlacement> {
 protected:
  ~Independence() override {
    base::set_threads(threads_);
    kernels::use_target("");
  }

  int threads_ = base::threads();
};

TEST_P(Independence, OfNeighboursOrderAndThreads) {
  const auto model = model_of(GetParam());
  std::vector<std::int64_t> all(kSentences);
  std::iota(all.begin(), all.end(), 0);
  for (const std::string& target : kernels::available_targets()) {
    kernels::use_target(target);
    base::set_threads(1);
    std::map<std::int64_t, Fingerprint> alone;
    for (const std::int64_t i : all) alone.merge(fingerprints(*model, {i}));
    // A fingerprint of nothing would always be equal.
    ASSERT_NE(alone.at(0).at("source gradient"), std::string(alone.at(0).at("source gradient").size(), '\0'));
    std::vector<std::int64_t> order = all;
    for (const int threads : {1, 2}) {
      base::set_threads(threads);
      expect_same(fingerprints(*model, all), alone, fmt::format("{}, together, {} threads", target, threads));
      base::Random random(base::combine(6, threads));
      random.shuffle(std::span(order));
      expect_same(fingerprints(*model, order), alone, fmt::format("{}, shuffled, {} threads", target, threads));
    }
    expect_same(fingerprints(*model, {7, 2}), alone, target + ", two");
  }
}

TEST_P(Independence, OfPacking) {
  const auto plain = model_of(GetParam());
  const auto packed = model_of(GetParam());
  packed->pack();
  for (const std::vector<std::int64_t>& order : {std::vector<std::int64_t>{4}, {5, 0, 2, 9}}) {
    const auto expected = fingerprints(*plain, order);
    const auto found = fingerprints(*packed, order);
    expect_same(found, expected, "packed");
  }
}

INSTANTIATE_TEST_SUITE_P(Placements, Independence, testing::Values(NormPlacement::post, NormPlacement::pre),
                         [](const auto& info) { return word_of(info.param); });

}  // namespace
}  // namespace zhuyi::nn
