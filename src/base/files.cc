#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace zhuyi::base {
namespace {

[[noreturn]] void fail_system(std::string_view what, const std::filesystem::path& path) {
  const int code = errno;
  const ErrorKind kind = code == ENOENT ? ErrorKind::not_found : ErrorKind::system;
  fail(kind, "{} {}: {}", what, path.string(), std::strerror(code));
}

void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_system("cannot write", path);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Whether `path` is neither a file nor a directory and exists: it keeps nothing, and nothing may take its place.
bool is_device(const std::filesystem::path& path) {
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  return std::filesystem::is_other(status);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_system("cannot open", path);
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(descriptor);
    fail(ErrorKind::bad_file, "cannot read {}: it is a directory, expected a file", path.string());
  }
  std::string content;
  if (status.st_size > 0) content.reserve(static_cast<std::size_t>(status.st_size));
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count == 0) break;
    if (count < 0) {
      if (errno == EINTR) continue;
      const int code = errno;
      ::close(descriptor);
      errno = code;
      fail_system("cannot read", path);
    }
    content.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  return content;
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  temporary_ = path_;
  if (!is_device(path_)) temporary_ += fmt::format(".{}.part", ::getpid());
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) {
    const int code = errno;
    fail(ErrorKind::system, "cannot write {}: {}", path_.string(), std::strerror(code));
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (temporary_ != path_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) { write_all(descriptor_, bytes, path_); }

void AtomicFile::commit(const std::filesystem::path& keep_as) {
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail_system("cannot write", path_);
  const bool replace = temporary_ != path_;
  if (replace && !keep_as.empty() && ::rename(path_.c_str(), keep_as.c_str()) != 0 && errno != ENOENT) {
    fail_system("cannot rename", path_);
  }
  if (replace && ::rename(temporary_.c_str(), path_.c_str()) != 0) fail_system("cannot replace", path_);
  ::close(descriptor_);
  descriptor_ = -1;
  const std::filesystem::path parent = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
  if (const int directory = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void append_file(const std::filesystem::path& path, std::string_view bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(ErrorKind::system, "cannot open {}: {}", path.string(), std::strerror(errno));
  try {
    write_all(descriptor, bytes, path);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
}

void sync_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return;
  if (descriptor < 0) fail(ErrorKind::system, "cannot open {}: {}", path.string(), std::strerror(errno));
  const int status = ::fsync(descriptor);
  const int code = errno;
  ::close(descriptor);
  if (status != 0 && code != EINVAL) fail(ErrorKind::system, "cannot write {}: {}", path.string(), std::strerror(code));
}

void remove_unfinished(const std::filesystem::path& directory) {
  constexpr std::string_view kPart = ".part";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    std::string_view name = entry.path().native();
    if (!name.ends_with(kPart)) continue;
    name.remove_suffix(kPart.size());
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) continue;
    const std::string_view digits = name.substr(dot + 1);
    pid_t process = 0;
    const auto [rest, code] = std::from_chars(digits.data(), digits.data() + digits.size(), process);
    if (code != std::errc() || rest != digits.data() + digits.size() || process <= 0) continue;
    const bool lives = process != ::getpid() && (::kill(process, 0) == 0 || errno == EPERM);
    std::error_code ignored;
    if (!lives) std::filesystem::remove(entry.path(), ignored);
  }
}

void create_directories(const std::filesystem::path& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) fail(ErrorKind::system, "cannot create the directory {}: {}", path.string(), code.message());
}

void for_each_line(std::string_view text, const std::function<void(std::string_view)>& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

}  // namespace zhuyi::base
