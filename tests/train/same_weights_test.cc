// Processes that train together: one whose weights differ is found and named, and one whose norm differs follows.

#include "train/same_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "train/checkpoint.h"
#include "train/processes.h"
#include "train/runs.h"
#include "train/weight_step.h"

namespace zhuyi::train {
namespace {

using ::testing::HasSubstr;

// A process that is like `other` but for a fault: one bit of the first number in its `at`-th sum of gradients.
class FaultyProcess final : public Communicator {
 public:
  FaultyProcess(Communicator& other, std::int64_t at) : other_(other), left_(at) {}

  std::int64_t rank() const override { return other_.rank(); }
  std::int64_t size() const override { return other_.size(); }
  std::int64_t local_size() const override { return other_.local_size(); }
  void sum(std::span<float> numbers, int bits) override {
    other_.sum(numbers, bits);
    if (left_-- == 0) numbers[0] += 1;
  }
  void sum(std::span<double> numbers) override { other_.sum(numbers); }
  void broadcast(std::span<std::byte> bytes) override { other_.broadcast(bytes); }
  [[noreturn]] void abort(int /*exit_code*/) override { throw std::logic_error("abort"); }

 private:
  Communicator& other_;
  std::int64_t left_;
};

class SameWeights : public ::testing::Test {
 protected:
  SameWeights() : tokenizer_(letter_tokenizer()) {
    base::set_threads(1);
    pairs_ = letter_pairs(60, 2, 8, true, 3);
    options_.batches = {.tokens = 60, .pool = 4, .seed = 5};
    options_.schedule = {.kind = optim::ScheduleKind::inverse_square_root, .peak = 3e-3, .warmup = 20};
    options_.keep = 0;
  }

  // What each of `count` processes says when the `faulty` one goes wrong in its `at`-th step; "" for no error.
  std::vector<std::string> messages(std::int64_t count, std::int64_t faulty, std::int64_t at) {
    std::vector<std::string> said(static_cast<std::size_t>(count));
    options_.directory = folder_.path();
    in_processes(count, [&](Communicator& communicator) {
      FaultyProcess process(communicator, communicator.rank() == faulty ? at : -1);
      formats::Model model = new_model(small_config(16, 1), tokenizer_);
      Listener listener;
      try {
        train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0), Validator(pairs_, tokenizer_, tokenizer_, 0),
              options_, listener, process);
      } catch (const base::Error& error) {
        EXPECT_EQ(error.kind(), base::ErrorKind::system);
        said[static_cast<std::size_t>(communicator.rank())] = error.message();
      }
    });
    return said;
  }

  TemporaryFolder folder_;
  text::Tokenizer tokenizer_;
  std::vector<data::SentencePair> pairs_;
  TrainOptions options_;
};

// The fault comes in step 3, the checkpoint of step 2 is the last that is written.
TEST_F(SameWeights, OneThatDiffersIsNamedBeforeACheckpointIsWritten) {
  options_.budget.steps = 10;
  options_.validate_steps = 2;
  for (const std::int64_t faulty : {0, 1, 2}) {
    for (const std::string& message : messages(3, faulty, 2)) {
      EXPECT_THAT(message,
                  HasSubstr(fmt::format("after step 4 process {} of 3 has other weights than the others", faulty)));
    }
    EXPECT_EQ(read_checkpoint(folder_ / "checkpoint.safetensors").progress.step, 2);
    for (const char* name : {"checkpoint.safetensors", "metrics.jsonl", "model.safetensors"}) {
      EXPECT_TRUE(std::filesystem::remove(folder_ / name)) << name;
    }
  }
  for (const std::string& message : messages(2, 1, 2)) {
    EXPECT_THAT(message, HasSubstr("process 1 of 2 has other weights than process 0"));
  }
}

TEST_F(SameWeights, OneThatDiffersIsNamedAtTheHundredthStepAtTheLatest) {
  options_.budget.steps = 150;
  options_.validate_steps = 1000;
  for (const std::string& message : messages(3, 1, 10)) {
    EXPECT_THAT(message, HasSubstr("after step 100 process 1 of 3 has other weights"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "checkpoint.safetensors"));
}

TEST_F(SameWeights, OneThatDiffersIsNamedBeforeTheRunEnds) {
  options_.budget.steps = 5;
  options_.validate_steps = 1000;
  for (const std::string& message : messages(3, 2, 4)) {
    EXPECT_THAT(message, HasSubstr("after step 5 process 2 of 3 has other weights"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
}

TEST_F(SameWeights, OfAllAreNoError) {
  options_.budget.steps = 101;
  options_.validate_steps = 40;
  for (const std::string& message : messages(3, -1, 0)) EXPECT_EQ(message, "");
  EXPECT_EQ(read_checkpoint(folder_ / "checkpoint.safetensors").progress.step, 101);
}

// The weights after one clipped step along a gradient of ones, in a process whose norm is another: the gap behind a
// parameter, which is not among the weights, holds a number that only its norm sees.
std::vector<float> weights_after_step(nn::Transformer& model, double in_gap, Communicator& processes) {
  TrainOptions options;
  options.clip = 0.5;
  // Adam's first step would be the same along a gradient of any length.
  options.optimizer.adam.epsilon = 1;
  WeightStep step(model, options);
  step.begin();
  const autograd::Parameters& parameters = model.parameters();
  const auto& list = parameters.list();
  const auto before_gap =
      std::find_if(list.begin(), list.end(), [](const auto& p) { return p->rows * p->columns % 16 != 0; });
  EXPECT_NE(before_gap, list.end());
  for (const auto& parameter : list) step.gradients().of(*parameter).fill(1);
  const std::int64_t gap = (*before_gap)->offset + (*before_gap)->rows * (*before_gap)->columns;
  step.gradients().flat().data<float>()[static_cast<std::size_t>(gap)] = static_cast<float>(in_gap);
  EXPECT_TRUE(step.move({.loss = 1, .nll = 1, .target_tokens = 1, .not_finite = {}}, 1e-2, processes));
  std::vector<float> weights;
  for (const auto& parameter : list) {
    const std::span<const float> numbers = parameter->value.data<float>();
    weights.insert(weights.end(), numbers.begin(), numbers.end());
  }
  return weights;
}

TEST_F(SameWeights, ProcessesStepByTheNormOfTheFirst) {
  const nn::Config config = small_config(24, 1);  // 24 numbers of a bias leave a gap of 8
  const double in_gap[] = {0, 0.25, 0.001};       // of norms near 70: 4e-4 and 7e-9 more
  std::vector<std::vector<float>> alone;
  std::vector<std::vector<float>> together(3);
  for (const double number : in_gap) {
    OneProcess one;
    alone.push_back(weights_after_step(*new_model(config, tokenizer_).transformer, number, one));
  }
  EXPECT_NE(alone[1], alone[0]);  // what would happen if each took its own
  in_processes(3, [&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    together[rank] = weights_after_step(*new_model(config, tokenizer_).transformer, in_gap[rank], communicator);
  });
  EXPECT_EQ(together[0], alone[0]);
  EXPECT_EQ(together[1], together[0]);  // to the bit
  EXPECT_EQ(together[2], together[0]);
}

}  // namespace
}  // namespace zhuyi::train
