#include "base/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace zhuyi::base {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "?";
}

// What the holder wrote into the file.
std::string holder(int descriptor) {
  std::array<char, 300> text{};
  const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
  return count > 0 ? std::string(text.data(), static_cast<std::size_t>(count)) : "another process";
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const std::string& what) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(ErrorKind::system, "cannot write {}: {}", path.string(), std::strerror(errno));
  int status = 0;
  do {
    status = ::flock(descriptor_, LOCK_EX | LOCK_NB);
  } while (status != 0 && errno == EINTR);
  if (status != 0 && errno == EWOULDBLOCK) {
    const std::string by = holder(descriptor_);
    ::close(descriptor_);
    fail(ErrorKind::system, "{} is in use by {}; wait for its end, or take another directory", what, by);
  }
  if (status != 0) return;  // no locks here
  const std::string text = fmt::format("process {} on {}", ::getpid(), host_name());
  // The name serves messages alone: a full disk must not stop the lock.
  if (::ftruncate(descriptor_, 0) == 0 && ::pwrite(descriptor_, text.data(), text.size(), 0) < 0) return;
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace zhuyi::base
