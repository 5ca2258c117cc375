#include "formats/event_file.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

#include "base/files.h"

namespace zhuyi::formats {
namespace {

// The table of the polynomial 0x1edc6f41, bits reversed.
constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78u : 0u);
    table[i] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xff);
  return text;
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

// Protocol buffers: a key is the field's number and the kind of what follows.
std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7f) | 0x80);
  text += static_cast<char>(value);
  return text;
}
std::string key(std::uint64_t field, std::uint64_t wire) { return varint(field << 3 | wire); }
std::string integer_field(std::uint64_t field, std::int64_t value) {
  return key(field, 0) + varint(static_cast<std::uint64_t>(value));
}
std::string double_field(std::uint64_t field, double value) {
  return key(field, 1) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}
std::string float_field(std::uint64_t field, double value) {
  return key(field, 5) + little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
}
std::string bytes_field(std::uint64_t field, std::string_view bytes) {
  return key(field, 2) + varint(bytes.size()) + std::string(bytes);
}

// Event: wall_time 1, step 2, one of file_version 3, summary 5, session_log 7.
std::string event(double time, std::int64_t step, const std::string& content) {
  return record_of(double_field(1, time) + integer_field(2, step) + content);
}

// Summary.Value: tag 1, simple_value 2.
std::string value_of(const Scalar& scalar) { return bytes_field(1, scalar.first) + float_field(2, scalar.second); }

// Summary.Value: tag 1, tensor 8 (dtype 1 = string, shape 2 of one dimension of size 1, string_val 8), metadata 9 whose
// plugin_data 1 names the plugin "text".
std::string value_of(const Note& note) {
  constexpr std::int64_t kString = 7;
  const std::string shape = bytes_field(2, integer_field(1, 1));
  const std::string tensor = integer_field(1, kString) + bytes_field(2, shape) + bytes_field(8, note.second);
  return bytes_field(1, note.first) + bytes_field(8, tensor) + bytes_field(9, bytes_field(1, bytes_field(1, "text")));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff];
  return ~crc;
}

std::string record_of(std::string_view bytes) {
  const std::string length = little_endian(bytes.size(), 8);
  return length + little_endian(masked(crc32c(length)), 4) + std::string(bytes) +
         little_endian(masked(crc32c(bytes)), 4);
}

EventFile::EventFile(const std::filesystem::path& directory, double time, std::int64_t next_step) {
  const std::string name = fmt::format("events.out.tfevents.{:010}.zhuyi", static_cast<std::int64_t>(time));
  path_ = directory / name;
  for (int i = 1; std::filesystem::exists(path_); ++i) path_ = directory / fmt::format("{}.{}", name, i);
  std::string start = record_of(double_field(1, time) + bytes_field(3, "brain.Event:2"));
  constexpr std::int64_t kStart = 1;  // SessionLog: status 1
  if (next_step > 0) start += event(time, next_step, bytes_field(7, integer_field(1, kStart)));
  base::append_file(path_, start);
}

void EventFile::add(double time, std::int64_t step, const std::vector<Scalar>& scalars,
                    const std::vector<Note>& notes) {
  std::string summary;
  for (const Scalar& scalar : scalars) summary += bytes_field(1, value_of(scalar));
  for (const Note& note : notes) summary += bytes_field(1, value_of(note));
  base::append_file(path_, event(time, step, bytes_field(5, summary)));
}

}  // namespace zhuyi::formats
