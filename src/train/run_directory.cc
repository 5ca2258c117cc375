#include "train/run_directory.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"

namespace zhuyi::train {

namespace fs = std::filesystem;
using base::check_kind;
using base::ErrorKind;

namespace {

constexpr const char* kCheckpoint = "checkpoint.safetensors";
constexpr const char* kPrevious = "checkpoint.previous.safetensors";
constexpr const char* kDamaged = "checkpoint.damaged.safetensors";
constexpr const char* kMetrics = "metrics.jsonl";

}  // namespace

std::unique_ptr<base::FileLock> lock_run(const fs::path& directory) {
  return std::make_unique<base::FileLock>(directory / "run.lock",
                                          fmt::format("the run directory {}", directory.string()));
}

FoundCheckpoint newest_checkpoint(const fs::path& directory) {
  FoundCheckpoint found;
  for (const char* name : {kCheckpoint, kPrevious}) {
    const fs::path path = directory / name;
    // Between the two names of one replacement only the older file is there.
    std::error_code error;
    const bool there = fs::exists(path, error);
    check_kind(!error, ErrorKind::system, "cannot read {}: {}", path.string(), error.message());
    if (!there) continue;
    try {
      found.checkpoint = read_checkpoint(path);
      found.path = path;
      return found;
    } catch (const base::Error& error) {
      if (error.kind() != ErrorKind::bad_model) throw;
      found.damage += (found.damage.empty() ? "" : "; ") + error.message();
    }
  }
  check_kind(found.damage.empty(), ErrorKind::bad_model,
             "{}; there is no whole checkpoint before it. The model can still be used; to train on from it: --from",
             found.damage);
  return found;
}

fs::path RunDirectory::snapshot_file(std::int64_t step) const {
  return file(fmt::format("snapshot-{}.safetensors", step));
}

void RunDirectory::begin(const FoundCheckpoint& found, Progress& progress) const {
  base::remove_unfinished(directory_);
  if (!found.damage.empty()) {
    std::error_code error;
    fs::rename(file(kCheckpoint), file(kDamaged), error);
    check_kind(!error, ErrorKind::system, "cannot rename {}: {}", file(kCheckpoint).string(), error.message());
  }
  remove_surplus(progress);
  progress.surplus.clear();
  const fs::path metrics = file(kMetrics);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(metrics, error);
  const auto keep = error ? 0 : std::min(size, static_cast<std::uintmax_t>(progress.metrics_bytes));
  if (!error && size > keep) fs::resize_file(metrics, keep, error);
  check_kind(!error || !fs::exists(metrics), ErrorKind::system, "cannot shorten {}: {}", metrics.string(),
             error.message());
  progress.metrics_bytes = static_cast<std::int64_t>(keep);
}

void RunDirectory::append_metrics(const nlohmann::json& line, Progress& progress) const {
  const std::string text = line.dump() + "\n";
  base::append_file(file(kMetrics), text);
  progress.metrics_bytes += static_cast<std::int64_t>(text.size());
}

void RunDirectory::add_snapshot(const formats::Model& model, Progress& progress) const {
  if (keep_ <= 0) return;
  formats::save_model(snapshot_file(progress.step), model);
  progress.snapshots.push_back(progress.step);
  while (static_cast<std::int64_t>(progress.snapshots.size()) > keep_) {
    const std::int64_t oldest = progress.snapshots.front();
    progress.snapshots.erase(progress.snapshots.begin());
    if (keep_every_ == 0 || oldest % keep_every_ != 0) progress.surplus.push_back(oldest);
  }
}

void RunDirectory::save(const formats::Model& model, const optim::Optimizer& optimizer, Progress& progress) const {
  base::sync_file(file(kMetrics));
  save_checkpoint(file(kCheckpoint), model, optimizer, progress, file(kPrevious));
  // Only now does no checkpoint need them; one that the process did not live to remove is removed by the next.
  remove_surplus(progress);
  progress.surplus.clear();
}

void RunDirectory::remove_surplus(const Progress& progress) const {
  for (const std::int64_t step : progress.surplus) {
    std::error_code ignored;  // a file that is gone already needs no removal
    fs::remove(snapshot_file(step), ignored);
  }
}

}  // namespace zhuyi::train
