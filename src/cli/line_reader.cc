#include "cli/line_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace zhuyi::cli {

using base::ErrorKind;

LineReader::LineReader(const std::string& path) : name_(path == "-" ? "standard input" : path) {
  if (path == "-") return;
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ >= 0) return;
  const int code = errno;
  base::fail(code == ENOENT ? ErrorKind::not_found : ErrorKind::system, "cannot open {}: {}", path,
             std::strerror(code));
}

LineReader::~LineReader() {
  if (descriptor_ > 0) ::close(descriptor_);
}

std::vector<std::string> LineReader::window(std::int64_t limit, const std::function<bool()>& interrupted) {
  std::vector<std::string> lines;
  while (std::ssize(lines) < limit) {
    if (std::optional<std::string> line = next_line()) {
      lines.push_back(*std::move(line));
    } else if (ended_ || interrupted() || (!lines.empty() && !waiting())) {
      break;
    } else {
      fill(interrupted);
    }
  }
  return lines;
}

std::int64_t LineReader::size() const {
  struct stat about {};
  if (::fstat(descriptor_, &about) != 0 || !S_ISREG(about.st_mode)) return -1;
  return about.st_size;
}

std::optional<std::string> LineReader::next_line() {
  std::size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    if (!ended_ || begin_ == buffer_.size()) return std::nullopt;
    end = buffer_.size();
  }
  std::string line = buffer_.substr(begin_, end - begin_);
  begin_ = scanned_ = std::min(end + 1, buffer_.size());
  if (line.ends_with('\r')) line.pop_back();
  if (first_ && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
  first_ = false;
  return line;
}

bool LineReader::waiting() const {
  pollfd file{descriptor_, POLLIN, 0};
  return ::poll(&file, 1, 0) > 0;
}

void LineReader::fill(const std::function<bool()>& interrupted) {
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  constexpr std::size_t kBlock = 1 << 16;
  const std::size_t size = buffer_.size();
  buffer_.resize(size + kBlock);
  ssize_t count = -1;
  do {
    count = ::read(descriptor_, buffer_.data() + size, kBlock);
  } while (count < 0 && errno == EINTR && !interrupted());
  const int code = errno;
  buffer_.resize(size + (count > 0 ? static_cast<std::size_t>(count) : 0));
  if (count < 0 && code != EINTR) {
    base::fail(code == EISDIR ? ErrorKind::bad_file : ErrorKind::system, "cannot read {}: {}", name_,
               std::strerror(code));
  }
  if (count > 0) read_ += count;
  if (count == 0) ended_ = true;
}

}  // namespace zhuyi::cli
