#pragma once
// Files: whole reads, line reading, and writes that leave either the old file or the complete new one.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace zhuyi::base {

// The whole content of a file. Throws not_found, bad_file (a directory) or system.
std::string read_file(const std::filesystem::path& path);

// A file that takes the place of `path` only when commit() is called: it is written beside it under a temporary name,
// synced to the disk and renamed. Without commit() nothing changes and the temporary file is removed. A device or a
// pipe
// (/dev/stdout, /dev/null) is written to as it is, never replaced. What a process that is killed leaves is named
// `path`.PID.part; see remove_unfinished().
class AtomicFile {
 public:
  // Throws system when the directory cannot be written.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Appends bytes. Throws system (disk full).
  void write(std::string_view bytes);
  // Syncs and renames. Throws system; then the old file is untouched. With `keep_as` the old file, if there is one,
  // takes that name at the moment it is replaced: at any time one of the two is there, complete.
  void commit(const std::filesystem::path& keep_as = {});

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

// Replaces the content of a file in one step (AtomicFile).
void write_file(const std::filesystem::path& path, std::string_view bytes);

// Appends bytes to a file, creating it. Throws system.
void append_file(const std::filesystem::path& path, std::string_view bytes);

// Makes sure that what was written to a file is on the disk; nothing happens when there is no such file. Throws system.
void sync_file(const std::filesystem::path& path);

// Removes from a directory what the AtomicFiles of processes that were killed have left there; those of processes that
// live are left alone. Never throws: a file that cannot be removed stays.
void remove_unfinished(const std::filesystem::path& directory);

// Creates a directory and its parents. Throws system, naming the path.
void create_directories(const std::filesystem::path& path);

// Gives the lines of a text to `visit`, without their end; an end of line is LF or CRLF, a last line without one
// counts, and nothing follows a final end of line.
void for_each_line(std::string_view text, const std::function<void(std::string_view)>& visit);

}  // namespace zhuyi::base
