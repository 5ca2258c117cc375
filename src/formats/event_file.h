#pragma once
// TensorBoard's event files: records with checksums (TFRecord) that hold protocol buffers, of which a few fields are
// written by hand.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zhuyi::formats {

// CRC-32C (Castagnoli) of some bytes.
std::uint32_t crc32c(std::string_view bytes);

// A TFRecord: the length, its masked checksum, the bytes, their masked checksum; all numbers little-endian.
std::string record_of(std::string_view bytes);

// A number or a text of one step, by its tag ("train/loss").
using Scalar = std::pair<std::string, double>;
using Note = std::pair<std::string, std::string>;

// A new event file in a directory. Times are seconds since 1970. Each function appends to the file and throws system
// when it cannot.
class EventFile {
 public:
  // "events.out.tfevents.TIME.zhuyi", or with a number behind it when there is such a file already. A reader forgets
  // what earlier files of the directory say about `next_step` and later steps: the run was continued there.
  EventFile(const std::filesystem::path& directory, double time, std::int64_t next_step);

  const std::filesystem::path& path() const { return path_; }
  void add(double time, std::int64_t step, const std::vector<Scalar>& scalars, const std::vector<Note>& notes = {});

 private:
  std::filesystem::path path_;
};

}  // namespace zhuyi::formats
