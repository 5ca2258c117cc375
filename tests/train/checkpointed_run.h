#pragma once
// A run of a few steps that leaves checkpoints, and what must be thrown when something is wrong with them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "temporary_folder.h"
#include "train/runs.h"

namespace zhuyi::train {

// Runs `body`, which must throw an Error of this kind whose message holds all of `parts`.
template <class Body>
void expect_error(base::ErrorKind kind, const std::vector<std::string>& parts, const Body& body) {
  try {
    body();
    ADD_FAILURE() << "no error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.message();
    for (const std::string& part : parts) EXPECT_THAT(error.message(), ::testing::HasSubstr(part));
  }
}

// Six steps over 40 pairs, with a validation and a checkpoint every second one.
class CheckpointedRun : public ::testing::Test {
 protected:
  CheckpointedRun() : tokenizer_(letter_tokenizer()) {
    base::set_threads(1);  // the models are too small for more
    pairs_ = letter_pairs(40, 2, 6, false, 3);
    options_.directory = folder_ / "run";
    options_.batches.tokens = 60;
    options_.schedule = {.kind = optim::ScheduleKind::inverse_square_root, .peak = 3e-3, .warmup = 5};
    options_.budget.steps = 6;
    options_.validate_steps = 2;
    options_.report_steps = 1;
    std::filesystem::create_directories(options_.directory);
  }

  TrainResult run(std::int64_t stop_after = -1) { return run(new_model(config_, tokenizer_), stop_after); }
  TrainResult run(formats::Model model, std::int64_t stop_after = -1) {
    Listener listener(stop_after);
    return train(model, EncodedCorpus(pairs_, model.source, model.target, 0),
                 Validator(pairs_, model.source, model.target, 0), options_, listener);
  }
  std::filesystem::path file(const std::string& name) { return options_.directory / name; }
  std::filesystem::path checkpoint() { return file("checkpoint.safetensors"); }
  std::filesystem::path previous() { return file("checkpoint.previous.safetensors"); }

  TemporaryFolder folder_;
  text::Tokenizer tokenizer_;
  nn::Config config_ = small_config(16, 1);
  std::vector<data::SentencePair> pairs_;
  TrainOptions options_;
};

}  // namespace zhuyi::train
