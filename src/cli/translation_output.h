#pragma once
// Where translations go: standard output, a file that appears once it is complete, or one that grows.

#include <cstdint>
#include <optional>
#include <string>

#include "base/files.h"

namespace zhuyi::cli {

class TranslationOutput {
 public:
  // "" is standard output. With `resume` the file grows as lines are written, and what it has is kept but for a last
  // line without an end. Throws system.
  TranslationOutput(const std::string& path, bool resume);

  // Whole lines that were there before.
  std::int64_t lines() const { return lines_; }
  // Throws system.
  void write(const std::string& text);
  void commit();

 private:
  std::string path_;
  bool resume_;
  std::int64_t lines_ = 0;
  std::optional<base::AtomicFile> file_;
};

}  // namespace zhuyi::cli
