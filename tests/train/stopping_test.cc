// Which model is kept and when a run gives up: by loss, BLEU or chrF, with patience; and the moving average as the
// model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/parallel.h"
#include "formats/safetensors.h"
#include "temporary_folder.h"
#include "train/metric.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

TEST(Metric, LossFallsAndTheOthersRise) {
  const Validation a{.nll = 2, .bleu = 30, .chrf = 40, .translated = 1, .seconds = 0, .samples = {}};
  const Validation b{.nll = 3, .bleu = 20, .chrf = 50, .translated = 1, .seconds = 0, .samples = {}};
  EXPECT_TRUE(better(Metric::nll, a, b));
  EXPECT_FALSE(better(Metric::nll, b, a));
  EXPECT_TRUE(better(Metric::bleu, a, b));
  EXPECT_FALSE(better(Metric::bleu, b, a));
  EXPECT_FALSE(better(Metric::chrf, a, b));
  EXPECT_TRUE(better(Metric::chrf, b, a));
  EXPECT_FALSE(better(Metric::nll, a, a));
  for (const char* name : {"nll", "bleu", "chrf"}) EXPECT_EQ(name_of(metric_of(name)), name);
  EXPECT_THROW(metric_of("ter"), base::Error);
}

class Stopping : public ::testing::Test {
 protected:
  Stopping() : tokenizer_(letter_tokenizer()) {
    base::set_threads(1);
    pairs_ = letter_pairs(40, 2, 6, false, 3);
    options_.directory = folder_ / "";
    options_.batches.tokens = 60;
    options_.schedule = {.kind = optim::ScheduleKind::constant, .peak = 3e-3, .warmup = 2, .cooldown = 0};
    options_.budget.steps = 40;
    options_.validate_steps = 2;
    options_.keep = 0;
  }

  TrainResult run(std::int64_t translated = 0, std::int64_t stop_after = -1) {
    formats::Model model = new_model(small_config(16, 1), tokenizer_);
    listener_ = Listener(stop_after);
    const TrainResult result = train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0),
                                     Validator(pairs_, tokenizer_, tokenizer_, translated), options_, listener_);
    weights_.assign(model.transformer->parameters().flat().data<float>().begin(),
                    model.transformer->parameters().flat().data<float>().end());
    return result;
  }

  TemporaryFolder folder_;
  text::Tokenizer tokenizer_;
  std::vector<data::SentencePair> pairs_;
  TrainOptions options_;
  Listener listener_;
  std::vector<float> weights_;  // after the last run
};

// A rate of zero changes nothing, so the first model stays the best: with a patience of 3 the fourth validation is the
// last.
TEST_F(Stopping, EndsWhenNothingGetsBetter) {
  options_.schedule.peak = 0;
  options_.patience = 3;
  const TrainResult result = run();
  EXPECT_TRUE(result.out_of_patience);
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.steps, 8);
  EXPECT_EQ(listener_.validations.size(), 4u);
  EXPECT_EQ(listener_.best_validations, 1);
  EXPECT_EQ(run().steps, 8);  // it stays ended ...
  options_.patience = 5;
  EXPECT_EQ(run().steps, 12);  // ... until there is more patience
}

TEST_F(Stopping, TheCountOutlivesAStop) {
  options_.schedule.peak = 0;
  options_.patience = 3;
  EXPECT_TRUE(run(0, 5).interrupted);
  EXPECT_EQ(run().steps, 8);
}

TEST_F(Stopping, ALossThatFallsGoesOnToTheEnd) {
  options_.patience = 1;
  const TrainResult result = run();
  EXPECT_FALSE(result.out_of_patience);
  EXPECT_EQ(result.steps, 40);
}

// The kept model has the best figure of all validations, whichever it is; BLEU of models that know nothing is 0 all the
// time, so that the first one stays.
TEST_F(Stopping, KeepsTheBestByTheMetric) {
  options_.metric = Metric::chrf;
  const TrainResult result = run(20);
  double highest = 0;
  for (const Validation& validation : listener_.validations) highest = std::max(highest, validation.chrf);
  EXPECT_GT(highest, 0);
  EXPECT_EQ(result.best.chrf, highest);
  const formats::Model kept = formats::load_model(folder_ / "model.safetensors");
  EXPECT_EQ(Validator(pairs_, tokenizer_, tokenizer_, 20).run(kept, true).chrf, highest);
  options_.metric = Metric::bleu;
  EXPECT_THROW(run(0), base::Error);
}

// Decays of 2/11, 3/12, 4/13, ...: the average of the weights after each step, by hand.
TEST_F(Stopping, TheMovingAverageIsTheModel) {
  options_.optimizer.average = 0.999;
  options_.validate_steps = 4;
  options_.budget.steps = 4;
  run(0, 0);  // the weights to start with
  std::vector<double> average(weights_.begin(), weights_.end());
  for (std::int64_t step = 1; step <= 4; ++step) {
    run(0, step < 4 ? 1 : -1);
    const double decay = static_cast<double>(1 + step) / static_cast<double>(10 + step);
    for (std::size_t i = 0; i < average.size(); ++i) average[i] = decay * average[i] + (1 - decay) * weights_[i];
  }
  const formats::Model kept = formats::load_model(folder_ / "model.safetensors");
  const std::span<const float> found = kept.transformer->parameters().flat().data<float>();
  ASSERT_EQ(found.size(), average.size());
  double moved = 0;
  for (std::size_t i = 0; i < average.size(); ++i) {
    EXPECT_NEAR(found[i], average[i], 1e-5);
    moved = std::max(moved, std::abs(static_cast<double>(found[i]) - weights_[i]));
  }
  EXPECT_GT(moved, 1e-3);
  // The checkpoint has the weights that are trained, beside their average.
  const formats::SafeTensorsFile checkpoint(folder_ / "checkpoint.safetensors");
  EXPECT_EQ(checkpoint.tensor("embedding").at(0, 0), weights_[0]);
  EXPECT_NEAR(checkpoint.tensor("average").at(0, 0), average[0], 1e-5);
  EXPECT_EQ(Validator(pairs_, tokenizer_, tokenizer_, 0).run(kept, false).nll, listener_.validations.back().nll);
}

}  // namespace
}  // namespace zhuyi::train
