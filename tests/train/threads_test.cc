// A run is bit for bit the same in one thread, in two and in four.

#include <gtest/gtest.h>

#include <cstring>

#include "base/parallel.h"
#include "formats/safetensors.h"
#include "temporary_folder.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

// Wide enough for every loop of a step to be shared out: products of 256 rows and more, 140,000 weights.
class Threads : public ::testing::Test {
 protected:
  Threads() : tokenizer_(letter_tokenizer()) {
    config_ = small_config(64, 2, 0.1);
    config_.d_ff = 256;
    pairs_ = letter_pairs(400, 2, 20, true, 3);
    valid_ = letter_pairs(40, 2, 12, true, 4);
    options_.batches = {.tokens = 600, .pool = 4, .seed = 5};
    options_.accumulate = 2;
    options_.schedule = {.kind = optim::ScheduleKind::inverse_square_root, .peak = 3e-3, .warmup = 5};
    options_.clip = 0.1;  // below every norm of these steps: each is clipped
    options_.budget.steps = 4;
    options_.validate_steps = 2;
    options_.keep = 2;
    options_.report_steps = 1;
  }
  ~Threads() override { base::set_threads(1); }

  void run(int threads) {
    base::set_threads(threads);
    options_.directory = folder_ / std::to_string(threads);
    std::filesystem::create_directories(options_.directory);
    formats::Model model = new_model(config_, tokenizer_);
    Listener listener;
    train(model, EncodedCorpus(pairs_, tokenizer_, tokenizer_, 0), Validator(valid_, tokenizer_, tokenizer_, 8),
          options_, listener);
    ASSERT_EQ(listener.reports.size(), 4u);
    ASSERT_EQ(listener.validations.size(), 2u);
    for (const StepReport& report : listener.reports) EXPECT_GT(report.gradient_norm, options_.clip);
  }

  // Weights, moments, averages and the mean of snapshots; losses, norms and validations to the last digit of the files.
  void expect_the_same_in_any_number_of_threads() {
    run(1);
    const formats::SafeTensorsFile one(folder_ / "1/checkpoint.safetensors");
    for (const int threads : {2, 4}) {
      SCOPED_TRACE(threads);
      run(threads);
      const std::filesystem::path other = folder_ / std::to_string(threads);
      const formats::SafeTensorsFile several(other / "checkpoint.safetensors");
      ASSERT_EQ(one.tensors().size(), several.tensors().size());
      for (const auto& [name, tensor] : one.tensors()) {
        ASSERT_TRUE(several.contains(name)) << name;
        const std::span<const std::byte> bytes = several.tensors().at(name).bytes;
        ASSERT_EQ(tensor.bytes.size(), bytes.size()) << name;
        EXPECT_EQ(std::memcmp(tensor.bytes.data(), bytes.data(), bytes.size()), 0) << name;
      }
      EXPECT_TRUE(base::read_file(folder_ / "1/model.safetensors") == base::read_file(other / "model.safetensors"));
      EXPECT_EQ(metrics_of(folder_ / "1/metrics.jsonl"), metrics_of(other / "metrics.jsonl"));
    }
  }

  TemporaryFolder folder_;
  text::Tokenizer tokenizer_;
  nn::Config config_;
  std::vector<data::SentencePair> pairs_;
  std::vector<data::SentencePair> valid_;
  TrainOptions options_;
};

TEST_F(Threads, OfAnyNumberGiveTheBitsOfOneWithAdam) {
  options_.optimizer.average = 0.9;
  expect_the_same_in_any_number_of_threads();
}

TEST_F(Threads, OfAnyNumberGiveTheBitsOfOneWithMuon) {
  options_.optimizer.kind = optim::OptimizerKind::muon;
  options_.optimizer.adam.decay = 0.1;
  expect_the_same_in_any_number_of_threads();
}

TEST_F(Threads, OfAnyNumberGiveTheBitsOfOneInBf16) {
  if (!kernels::has_precision(kernels::Precision::bf16)) GTEST_SKIP() << "skipped: no AVX512-BF16";
  options_.precision = kernels::Precision::bf16;
  config_.gated = true;
  config_.attention_dropout = 0.1;
  expect_the_same_in_any_number_of_threads();
}

}  // namespace
}  // namespace zhuyi::train
