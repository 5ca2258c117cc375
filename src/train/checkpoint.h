#pragma once
// Everything that a run needs to go on as if it had never stopped, in one file with a checksum.

#include <cstdint>
#include <filesystem>
#include <map>
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
  std::int64_t part = 0;   // of the epoch; 0 for a corpus in memory
  std::int64_t batch = 0;  // next batch of the part
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
  std::int64_t skipped = 0;             // steps whose loss or gradient was not finite
  std::int64_t skipped_in_row = 0;      // the last so many of them
  std::vector<std::int64_t> snapshots;  // steps of the snapshot files whose mean is tried
  std::vector<std::int64_t> surplus;    // steps of those that may go once this checkpoint is written
  std::int64_t pass_bytes = -1;         // memory that a pass may take, 0: no limit; -1: not decided yet
  std::string data;                     // what the texts are, as JSON
  std::string options;                  // what must not change in a run, as JSON
};

// What a checkpoint file holds.
struct Checkpoint {
  formats::Model model;
  std::map<std::string, tensor::Tensor> state;  // of the optimiser, by block
  std::int64_t optimizer_steps = 0;
  Progress progress;
};

// Writes weights, moments and progress in one step; with `keep_as` the file that it replaces stays under that name.
// Throws system; then the file before is intact.
void save_checkpoint(const std::filesystem::path& path, const formats::Model& model, const optim::Optimizer& optimizer,
                     const Progress& progress, const std::filesystem::path& keep_as = {});

// Reads what save_checkpoint wrote. Throws not_found, system, or bad_model saying what is damaged.
Checkpoint read_checkpoint(const std::filesystem::path& path);

// Puts it into a model and an optimiser. Throws bad_model, naming the difference, when they are of another
// configuration or have other tokenizers.
void restore(const Checkpoint& checkpoint, formats::Model& model, optim::Optimizer& optimizer);

// read_checkpoint and restore.
Progress load_checkpoint(const std::filesystem::path& path, formats::Model& model, optim::Optimizer& optimizer);

// Progress as text, and back; throws bad_model for text that is none.
std::string to_text(const Progress& progress);
Progress progress_from_text(const std::string& text);

// "learning-rate 0.001, now 0.002; seed 1, now 9": where two JSON objects, given as text, differ. Objects in them are
// compared field by field; of lists the first part is named.
std::string differences(const std::string& before, const std::string& now);

}  // namespace zhuyi::train
