#pragma once
// The progress of a run as TensorBoard's event files, beside whoever else hears of it.

#include <filesystem>
#include <optional>
#include <vector>

#include "formats/event_file.h"
#include "train/trainer.h"

namespace zhuyi::cli {

class TensorBoard {
 public:
  // Writes to a new event file in the directory, once the run is accepted.
  explicit TensorBoard(std::filesystem::path directory) : directory_(std::move(directory)) {}

  void started(const train::StepReport& where);
  void stepped(const train::StepReport& report);
  void validated(const train::StepReport& where, const train::Validation& result);

 private:
  std::filesystem::path directory_;
  std::optional<formats::EventFile> file_;
};

}  // namespace zhuyi::cli
