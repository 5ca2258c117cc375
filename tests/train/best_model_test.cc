// Which model a run keeps: the best by its validations, or the mean of the last snapshots.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "optim/adam.h"
#include "optim/average.h"
#include "train/average_models.h"
#include "train/checkpoint.h"
#include "train/checkpointed_run.h"

namespace zhuyi::train {
namespace {

class BestModel : public CheckpointedRun {};

TEST_F(BestModel, TheMeanOfTheLastSnapshotsIsTriedAndTheBetterModelKept) {
  options_.budget.steps = 12;
  options_.keep = 3;
  formats::Model model = new_model(config_, tokenizer_);
  Listener listener;
  const TrainResult result = train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0),
                                   Validator(pairs_, tokenizer_, tokenizer_, 0), options_, listener);
  ASSERT_EQ(listener.validations.size(), 6u);
  EXPECT_EQ(listener.averaged_snapshots, 3);
  for (const std::int64_t step : {2, 4, 6, 8, 10, 12}) {
    EXPECT_EQ(std::filesystem::exists(file(fmt::format("snapshot-{}.safetensors", step))), step >= 8) << step;
  }
  // The mean by hand, weight by weight, and the loss of a model made of it.
  std::vector<formats::Model> snapshots;
  for (const std::int64_t step : {8, 10, 12}) {
    snapshots.push_back(formats::load_model(file(fmt::format("snapshot-{}.safetensors", step))));
  }
  formats::Model mean = new_model(config_, tokenizer_);
  const std::span<float> weights = mean.transformer->parameters().flat().data<float>();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    double sum = 0;
    for (const formats::Model& snapshot : snapshots) sum += snapshot.transformer->parameters().flat().data<float>()[i];
    weights[i] = static_cast<float>(sum / 3);
  }
  const Validator validator(pairs_, tokenizer_, tokenizer_, 0);
  EXPECT_EQ(listener.average.nll, validator.run(mean, false).nll);
  double lowest = listener.average.nll;
  for (const Validation& validation : listener.validations) lowest = std::min(lowest, validation.nll);
  EXPECT_EQ(result.best.nll, lowest);
  EXPECT_EQ(listener.average_is_best, lowest == listener.average.nll);
  const formats::Model kept = formats::load_model(file("model.safetensors"));
  EXPECT_EQ(validator.run(kept, false).nll, lowest);
  EXPECT_EQ(kept.provenance.contains("averaged-snapshots"), listener.average_is_best);
}

// The second run is pushed away from where it was: the best model stays that of before.
TEST_F(BestModel, AWorseModelDoesNotReplaceTheBest) {
  options_.keep = 1;
  run();
  const std::string best = base::read_file(file("model.safetensors"));
  formats::Model model = new_model(config_, tokenizer_);
  optim::Adam adam(model.transformer->parameters(), {});
  Progress progress = load_checkpoint(checkpoint(), model, adam);
  const formats::Model unlearned = new_model(config_, tokenizer_, 8);
  model.transformer->parameters().flat().assign(unlearned.transformer->parameters().flat());
  save_checkpoint(checkpoint(), model, adam, progress);
  options_.budget.steps = 8;
  EXPECT_EQ(run().best.nll, progress.best_nll);
  EXPECT_TRUE(base::read_file(file("model.safetensors")) == best);
}

// Blocks of a megabyte, each of which must be gone from memory before the next is asked for.
TEST(MeanOfBlocks, HoldsOneOfThemAtATime) {
  constexpr std::int64_t kBlocks = 20;
  constexpr std::int64_t kNumbers = std::int64_t{1} << 18;
  std::vector<std::weak_ptr<tensor::Storage>> given;
  const auto next = [&]() -> std::optional<tensor::Tensor> {
    for (const std::weak_ptr<tensor::Storage>& block : given) EXPECT_TRUE(block.expired());
    if (given.size() == kBlocks) return std::nullopt;
    auto storage = tensor::Storage::allocate(kNumbers * 4);
    given.push_back(storage);
    tensor::Tensor block(std::move(storage), 0, 1, kNumbers, tensor::DType::f32);
    const auto turn = static_cast<double>(given.size());
    block.fill(turn * turn);
    return block;
  };
  const tensor::Tensor mean = mean_of_blocks(next);
  EXPECT_EQ(given.size(), std::size_t{kBlocks});
  // 1 + 4 + ... + 400 = 20 21 41 / 6 = 2870, and a twentieth of that.
  for (const float number : mean.data<float>()) ASSERT_EQ(number, 143.5F);
}

TEST(Average, IsTheMeanOfEachNumber) {
  const std::vector<tensor::Tensor> blocks = {tensor::Tensor::of(1, 4, {1, -2, 0.5, 1e8}),
                                              tensor::Tensor::of(1, 4, {2, 2, 0.25, 1}),
                                              tensor::Tensor::of(1, 4, {6, 3, 0, -1e8})};
  const tensor::Tensor mean = optim::mean_of(blocks);
  EXPECT_EQ(mean.at(0, 0), 3);
  EXPECT_EQ(mean.at(0, 1), 1);
  EXPECT_EQ(mean.at(0, 2), 0.25);
  EXPECT_EQ(mean.at(0, 3), static_cast<double>(1.0F / 3));  // 1e8 + 1 - 1e8: summed in f64
  EXPECT_EQ(blocks[0].at(0, 0), 1);
}

}  // namespace
}  // namespace zhuyi::train
