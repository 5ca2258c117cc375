#pragma once
// Everything that a run needs to go on as if it had never stopped, in one file.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "optim/optimizer.h"

namespace zhuyi::train {

// Sums over the steps since the last line of metrics.
struct Window {
  double loss = 0;
  double nll = 0;
  std::int64_t target_tokens = 0;
  double seconds = 0;
};

// Where a run stands, beside weights and moments.
struct Progress {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // next batch of the epoch
  std::int64_t target_tokens = 0;
  double seconds = 0;
  double validated_seconds = 0;      // when the last validation was
  std::int64_t validated_step = -1;  // its step; -1: none yet
  std::int64_t averaged_step = -1;   // where the mean of the snapshots was last tried; -1: never
  Window window;
  double best_nll = 0;  // of the model file; 0: none yet
  double best_bleu = 0;
  double best_chrf = 0;
  std::int64_t stalled = 0;             // validations since the last that was the best
  std::int64_t metrics_bytes = 0;       // length of metrics.jsonl
  std::vector<std::int64_t> snapshots;  // steps of the snapshot files
  std::uint64_t data = 0;               // fingerprint of the training data
  std::string options;                  // what must not change in a run, as text
};

// Writes weights, moments and progress in one step. Throws system; then the file before is intact.
void save_checkpoint(const std::filesystem::path& path, const formats::Model& model, const optim::Optimizer& optimizer,
                     const Progress& progress);

// Restores what save_checkpoint wrote into a model and an optimiser of the same configuration. Throws bad_model when
// the file is damaged or of another configuration.
Progress load_checkpoint(const std::filesystem::path& path, formats::Model& model, optim::Optimizer& optimizer);

// "learning-rate 0.001, now 0.002; seed 1, now 9": where two JSON objects, given as text, differ.
std::string differences(const std::string& before, const std::string& now);

}  // namespace zhuyi::train
