#pragma once
// The files of a training run: what they are called, how they are written so that nothing is lost, which are kept.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/lock.h"
#include "formats/model_file.h"
#include "optim/optimizer.h"
#include "train/checkpoint.h"

namespace zhuyi::train {

// Keeps other processes out of a run directory as long as it lives. Throws system when another one is in it, or when
// the directory cannot be written.
std::unique_ptr<base::FileLock> lock_run(const std::filesystem::path& directory);

// What a run can continue from.
struct FoundCheckpoint {
  std::optional<Checkpoint> checkpoint;  // nothing for a new run
  std::filesystem::path path;            // where it was read
  std::string damage;                    // what is wrong with the newest one, when the one before it had to be taken
};

// The newest checkpoint of a run directory that is whole. Throws bad_model, naming each, when there are only damaged
// ones.
FoundCheckpoint newest_checkpoint(const std::filesystem::path& directory);

// The run directory while its run is on. A process that is killed at any moment leaves a state from which the run goes
// on as if it had not been.
class RunDirectory {
 public:
  // Keeps the snapshots of the last `keep` validations, and those of every `keep_every`-th step (0: none).
  RunDirectory(std::filesystem::path directory, std::int64_t keep, std::int64_t keep_every)
      : directory_(std::move(directory)), keep_(keep), keep_every_(keep_every) {}

  std::filesystem::path model_file() const { return directory_ / "model.safetensors"; }
  std::filesystem::path snapshot_file(std::int64_t step) const;

  // Brings the directory to the state of `progress`: lines of metrics written later, files left half written and
  // surplus snapshots go; a damaged checkpoint is set aside as checkpoint.damaged.safetensors. Throws system.
  void begin(const FoundCheckpoint& found, Progress& progress) const;

  // Appends one line to metrics.jsonl. Throws system.
  void append_metrics(const nlohmann::json& line, Progress& progress) const;

  // Writes a snapshot among the last `keep`. Throws system.
  void add_snapshot(const formats::Model& model, Progress& progress) const;

  // Writes the checkpoint; the one before stays as checkpoint.previous.safetensors, older ones go. Throws system; then
  // both are as they were.
  void save(const formats::Model& model, const optim::Optimizer& optimizer, Progress& progress) const;

 private:
  std::filesystem::path file(const std::string& name) const { return directory_ / name; }
  void remove_surplus(const Progress& progress) const;

  std::filesystem::path directory_;
  std::int64_t keep_;
  std::int64_t keep_every_;
};

}  // namespace zhuyi::train
