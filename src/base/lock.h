#pragma once
// A lock on a file, so that two processes do not write to the same files.

#include <filesystem>
#include <string>

namespace zhuyi::base {

// Holds `path` (created when it is missing, and left there) until the object or the process ends, however it ends. The
// file names the holder. On a file system without locks nothing is locked and nothing refused.
class FileLock {
 public:
  // `what` says what is locked, for the message: "the run directory RUN". Throws system, naming the process that holds
  // it, when another one does, or when the file cannot be written.
  FileLock(const std::filesystem::path& path, const std::string& what);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace zhuyi::base
