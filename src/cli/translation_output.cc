#include "cli/translation_output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "base/error.h"

namespace zhuyi::cli {
namespace {

struct WholeLines {
  std::int64_t lines = 0;
  std::uintmax_t bytes = 0;  // of these
};

WholeLines whole_lines(const std::string& path) {
  WholeLines whole;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 1 << 16> block{};
  std::uintmax_t read = 0;
  while (file.read(block.data(), block.size()) || file.gcount() > 0) {
    const auto count = static_cast<std::size_t>(file.gcount());
    for (std::size_t i = 0; i < count; ++i) {
      if (block[i] != '\n') continue;
      ++whole.lines;
      whole.bytes = read + i + 1;
    }
    read += count;
  }
  return whole;
}

}  // namespace

TranslationOutput::TranslationOutput(const std::string& path, bool resume) : path_(path), resume_(resume) {
  if (path.empty()) return;
  if (!resume) {
    file_.emplace(path);
    return;
  }
  base::append_file(path, "");  // it can be written, or this says why not
  const WholeLines whole = whole_lines(path);
  std::error_code error;
  std::filesystem::resize_file(path, whole.bytes, error);
  base::check_kind(!error, base::ErrorKind::system, "cannot cut {} after its last whole line: {}", path,
                   error.message());
  lines_ = whole.lines;
}

void TranslationOutput::write(const std::string& text) {
  if (file_) {
    file_->write(text);
  } else if (resume_) {
    base::append_file(path_, text);
  } else {
    std::cout << text << std::flush;
    if (!std::cout) {
      base::fail(base::ErrorKind::system, "cannot write to standard output: {}", std::strerror(errno));
    }
  }
}

void TranslationOutput::commit() {
  if (file_) file_->commit();
}

}  // namespace zhuyi::cli
