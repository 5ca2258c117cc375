// Checkpoints: they give back what was saved, and damaged and foreign ones are refused by name.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "base/random.h"
#include "optim/adam.h"
#include "train/checkpoint.h"
#include "train/checkpointed_run.h"

namespace zhuyi::train {
namespace {

using base::ErrorKind;
using ::testing::HasSubstr;

class Checkpoint : public CheckpointedRun {};

TEST_F(Checkpoint, GivesBackEverythingThatWasSaved) {
  formats::Model model = new_model(config_, tokenizer_, 1);
  model.provenance["steps"] = "12";
  optim::Adam adam(model.transformer->parameters(), {});
  autograd::Gradients gradients(model.transformer->parameters());
  gradients.flat().fill(0.25);
  adam.step(model.transformer->parameters(), gradients, 1e-3, 1);
  Progress progress;
  progress.step = 12;
  progress.epoch = 3;
  progress.batch = 4;
  progress.target_tokens = std::int64_t{1} << 40;
  progress.seconds = 1.0 / 3;
  progress.validated_seconds = 0.1;
  progress.validated_step = 10;
  progress.averaged_step = 5;
  progress.window = {1.0 / 7, 2.0 / 7, 77, 0.7};
  progress.best_nll = 2.0 / 3;
  progress.best_bleu = 1.0 / 11;
  progress.best_chrf = 1.0 / 13;
  progress.stalled = 3;
  progress.metrics_bytes = 1234;
  progress.skipped = 6;
  progress.skipped_in_row = 2;
  progress.snapshots = {5, 10};
  progress.surplus = {2};
  progress.pass_bytes = std::int64_t{1} << 35;
  progress.data = "{\"training\":7}";
  progress.options = "{\"seed\":1}";
  save_checkpoint(checkpoint(), model, adam, progress);

  formats::Model other = new_model(config_, tokenizer_, 2);
  optim::Adam other_adam(other.transformer->parameters(), {});
  const Progress found = load_checkpoint(checkpoint(), other, other_adam);
  EXPECT_EQ(found.step, 12);
  EXPECT_EQ(found.epoch, 3);
  EXPECT_EQ(found.batch, 4);
  EXPECT_EQ(found.target_tokens, std::int64_t{1} << 40);
  EXPECT_EQ(found.seconds, 1.0 / 3);
  EXPECT_EQ(found.validated_seconds, 0.1);
  EXPECT_EQ(found.validated_step, 10);
  EXPECT_EQ(found.averaged_step, 5);
  EXPECT_EQ(found.window.loss, 1.0 / 7);
  EXPECT_EQ(found.window.nll, 2.0 / 7);
  EXPECT_EQ(found.window.target_tokens, 77);
  EXPECT_EQ(found.window.seconds, 0.7);
  EXPECT_EQ(found.best_nll, 2.0 / 3);
  EXPECT_EQ(found.best_bleu, 1.0 / 11);
  EXPECT_EQ(found.best_chrf, 1.0 / 13);
  EXPECT_EQ(found.stalled, 3);
  EXPECT_EQ(found.metrics_bytes, 1234);
  EXPECT_EQ(found.skipped, 6);
  EXPECT_EQ(found.skipped_in_row, 2);
  EXPECT_EQ(found.snapshots, (std::vector<std::int64_t>{5, 10}));
  EXPECT_EQ(found.surplus, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(found.pass_bytes, std::int64_t{1} << 35);
  EXPECT_EQ(found.data, "{\"training\":7}");
  EXPECT_EQ(found.options, "{\"seed\":1}");
  EXPECT_EQ(other.provenance.at("steps"), "12");
  EXPECT_EQ(other_adam.steps(), 1);
  const std::span<const float> weights = model.transformer->parameters().flat().data<float>();
  const std::span<const float> restored = other.transformer->parameters().flat().data<float>();
  EXPECT_TRUE(std::equal(weights.begin(), weights.end(), restored.begin(), restored.end()));
  // (1 - 0.9) 0.25 and (1 - 0.98) 0.25^2: Adam's moments after one step.
  EXPECT_NEAR(other_adam.moment1().at(0, 0), 0.025, 1e-8);
  EXPECT_NEAR(other_adam.moment2().at(0, 0), 0.00125, 1e-9);
}

// Bytes that a disk or a copy may have spoilt: cut off, zeros, one bit anywhere.
std::vector<std::string> spoilt(const std::string& good) {
  std::vector<std::string> all = {"", std::string(good.size(), '\0')};
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{8}, std::size_t{200}, good.size() / 2, good.size() - 1}) {
    all.push_back(good.substr(0, length));
  }
  base::Random random(5);
  for (int i = 0; i < 8; ++i) {
    all.push_back(good);
    char& byte = all.back()[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(good.size())))];
    byte = static_cast<char>(byte ^ (1 << random.below(8)));
  }
  all.push_back(good);
  const std::size_t at = good.find("\\\"step\\\":3");  // a number of the progress, in a file that else is whole
  EXPECT_NE(at, std::string::npos);
  all.back()[at + 9] = '4';
  return all;
}

TEST_F(Checkpoint, DamagedOnesAreRefusedByName) {
  run(3);
  std::filesystem::remove(previous());
  const std::string good = base::read_file(checkpoint());
  const std::string model = base::read_file(file("model.safetensors"));
  std::vector<std::string> cases = spoilt(good);
  cases.push_back(model);  // a model, but no checkpoint
  for (const std::string& bytes : cases) {
    folder_.write("run/checkpoint.safetensors", bytes);
    expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "no whole checkpoint before it"}, [&] { run(); });
    EXPECT_TRUE(base::read_file(checkpoint()) == bytes);  // left for the user to look at
    EXPECT_TRUE(base::read_file(file("model.safetensors")) == model);
  }
  base::write_file(checkpoint(), good);
  EXPECT_EQ(run().steps, 6);
}

// The run is stopped after step 3, its last but one checkpoint being that of the validation after step 2.
TEST_F(Checkpoint, ADamagedOneIsNamedAndTheOneBeforeItUsed) {
  options_.keep = 2;
  run();
  const std::string expected = base::read_file(file("model.safetensors"));
  const std::vector<nlohmann::json> metrics = metrics_of(file("metrics.jsonl"));
  options_.directory = folder_ / "damaged";
  std::filesystem::create_directories(options_.directory);
  run(3);
  const std::string good = base::read_file(checkpoint());
  const std::string before = base::read_file(previous());
  for (const std::string& bytes : spoilt(good)) {
    folder_.write("damaged/checkpoint.safetensors", bytes);
    folder_.write("damaged/checkpoint.previous.safetensors", before);
    Listener listener;
    formats::Model model = new_model(config_, tokenizer_);
    train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0), Validator(pairs_, tokenizer_, tokenizer_, 0),
          options_, listener);
    EXPECT_THAT(listener.damage, HasSubstr("checkpoint.safetensors"));
    EXPECT_EQ(listener.start.step, 2);
    EXPECT_TRUE(base::read_file(file("checkpoint.damaged.safetensors")) == bytes);
    EXPECT_TRUE(base::read_file(file("model.safetensors")) == expected);
    EXPECT_EQ(metrics_of(file("metrics.jsonl")), metrics);
    EXPECT_NO_THROW(read_checkpoint(checkpoint()));
    EXPECT_NO_THROW(read_checkpoint(previous()));
  }
  // A process killed between the two names of a replacement leaves the older file alone.
  std::filesystem::remove(checkpoint());
  folder_.write("damaged/checkpoint.previous.safetensors", before);
  Listener listener;
  formats::Model model = new_model(config_, tokenizer_);
  train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0), Validator(pairs_, tokenizer_, tokenizer_, 0), options_,
        listener);
  EXPECT_EQ(listener.damage, "");
  EXPECT_EQ(listener.start.step, 2);
  EXPECT_TRUE(base::read_file(file("model.safetensors")) == expected);
  folder_.write("damaged/checkpoint.safetensors", good.substr(0, 100));
  folder_.write("damaged/checkpoint.previous.safetensors", before.substr(0, 100));
  expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "checkpoint.previous.safetensors"}, [&] { run(); });
}

TEST_F(Checkpoint, MomentsThatAreNoNumbersAreRefused) {
  run(3);
  formats::Model model = new_model(config_, tokenizer_);
  optim::Adam adam(model.transformer->parameters(), {});
  const Progress progress = load_checkpoint(checkpoint(), model, adam);
  adam.state()[1].values->data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  save_checkpoint(checkpoint(), model, adam, progress);
  std::filesystem::remove(previous());
  expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "moment"}, [&] { run(); });
}

TEST_F(Checkpoint, ThatOfAnotherRunIsRefusedSayingWhatDiffers) {
  run(3);
  const std::string before = base::read_file(checkpoint());
  const std::string metrics = base::read_file(file("metrics.jsonl"));
  nn::Config wider = config_;
  wider.d_model = 32;
  expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "d-model 16, now 32"},
               [&] { run(new_model(wider, tokenizer_)); });

  const text::Tokenizer other = letter_tokenizer(98);
  ASSERT_EQ(other.size(), tokenizer_.size());
  expect_error(ErrorKind::bad_model, {"checkpoint.safetensors", "another tokenizer of the source (piece "},
               [&] { run(new_model(config_, other)); });

  const TrainOptions options = options_;
  options_.schedule.peak = 2e-3;
  options_.seed = 9;
  expect_error(ErrorKind::bad_model,
               {"checkpoint.safetensors", "learning-rate 0.003, now 0.002", "seed 1, now 9", "another directory"},
               [&] { run(); });
  options_ = options;

  const std::vector<data::SentencePair> pairs = pairs_;
  std::swap(pairs_[27], pairs_[28]);  // 40 pairs in 16 parts
  expect_error(ErrorKind::bad_model,
               {"checkpoint.safetensors", "training text part 12 of 16; validation text part 12 of 16"},
               [&] { run(); });
  pairs_.pop_back();
  expect_error(ErrorKind::bad_model, {"training pairs 40, now 39", "training target tokens "}, [&] { run(); });
  pairs_ = pairs;

  EXPECT_TRUE(base::read_file(checkpoint()) == before);
  EXPECT_TRUE(base::read_file(file("metrics.jsonl")) == metrics);
  EXPECT_EQ(run().steps, 6);
}

}  // namespace
}  // namespace zhuyi::train
