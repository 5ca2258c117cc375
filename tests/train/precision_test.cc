// Training with products in bf16 stays beside training in f32; only where the CPU has AVX512-BF16.

#include <gtest/gtest.h>

#include <cmath>

#include "base/parallel.h"
#include "temporary_folder.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

// The plain loss on unseen sequences after some steps of learning to copy.
double validation_nll(kernels::Precision precision) {
  const TemporaryFolder folder;
  const text::Tokenizer tokenizer = letter_tokenizer();
  formats::Model model = new_model(small_config(32, 1), tokenizer);
  TrainOptions options;
  options.directory = folder / "";
  options.schedule = {.kind = optim::ScheduleKind::linear, .peak = 2e-3, .warmup = 10};
  options.budget.steps = 60;
  options.validate_steps = 60;
  options.keep = 1;
  options.batches.tokens = 512;
  options.precision = precision;
  Listener listener;
  train(model, EncodedCorpus(letter_pairs(1000, 2, 8, false, 1), tokenizer, tokenizer, 0),
        Validator(letter_pairs(100, 2, 8, false, 2), tokenizer, tokenizer, 0), options, listener);
  return listener.validations.back().nll;
}

TEST(TrainingInBf16, ReachesTheLossOfF32WithinHalfAPercent) {
  if (!kernels::has_precision(kernels::Precision::bf16)) GTEST_SKIP() << "skipped: no AVX512-BF16";
  base::set_threads(1);
  const double full = validation_nll(kernels::Precision::f32);
  const double half = validation_nll(kernels::Precision::bf16);
  EXPECT_LT(full, 2.6);  // something was learnt: ten letters alone are ln 10 = 2.3, at first all pieces are alike
  EXPECT_NEAR(half, full, 0.005 * full);
  EXPECT_NE(half, full);  // or the option did nothing
}

}  // namespace
}  // namespace zhuyi::train
