#pragma once
// Lines of a file or of standard input in windows: many at once where they wait, each at once where somebody types.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace zhuyi::cli {

// An end of line is LF or CRLF; a last line without one counts; nothing follows a final end of line. A byte order mark
// at the very beginning is left out.
class LineReader {
 public:
  // "-" is standard input. Throws not_found, bad_file (a directory) or system.
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // At least one line and at most `limit`: those that can be had without waiting, or else the first to come. None at
  // the end, or when a signal came and `interrupted` gives true.
  std::vector<std::string> window(std::int64_t limit, const std::function<bool()>& interrupted);

  // Bytes of a regular file, -1 for anything else.
  std::int64_t size() const;
  // Bytes of the lines given so far.
  std::int64_t consumed() const { return read_ - static_cast<std::int64_t>(buffer_.size() - begin_); }

 private:
  std::optional<std::string> next_line();  // of those that were read, if there is a whole one
  bool waiting() const;                    // whether a read would answer at once
  void fill(const std::function<bool()>& interrupted);

  std::string name_;
  int descriptor_ = 0;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the first line not given yet
  std::size_t scanned_ = 0;  // no LF before this byte
  std::int64_t read_ = 0;    // bytes
  bool first_ = true;
  bool ended_ = false;
};

}  // namespace zhuyi::cli
