#pragma once
// The safetensors container: an 8-byte length, a JSON header that names tensors, then their bytes. Read through a
// memory map.

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace zhuyi::formats {

// One tensor in a file: its type ("F32", "F64", "I32", "U8", ...), its sizes, and its bytes in the map.
struct SafeTensor {
  std::string type;
  std::vector<std::int64_t> sizes;
  std::span<std::byte> bytes;
};

// An open file. Every number in the header is checked against the file before it is used.
class SafeTensorsFile {
 public:
  // Throws not_found, system, or bad_model naming what is wrong with the file.
  explicit SafeTensorsFile(const std::filesystem::path& path);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, SafeTensor>& tensors() const { return tensors_; }
  bool contains(const std::string& name) const { return tensors_.contains(name); }

  // Throws bad_model unless the file carries a checksum and its bytes give it. Reads the whole file.
  void verify() const;

  // A copy as a matrix (one size: one row; more than two: the first ones multiplied into rows). Throws bad_model when
  // it is missing or none of F32, F64 and BF16, which becomes f32.
  tensor::Tensor tensor(const std::string& name) const;
  // The numbers of an I8 tensor, or of an F32 or I32 one that lies at a multiple of 4 bytes, in the map: valid as long
  // as map() is kept. Throws bad_model.
  std::span<const std::int8_t> mapped_bytes(const std::string& name) const;
  std::span<const float> mapped_numbers(const std::string& name) const;
  std::span<const std::int32_t> mapped_integers(const std::string& name) const;
  std::shared_ptr<const void> map() const { return map_; }
  // A copy of an I32 tensor's numbers, or of an I64 one's that fit. Throws bad_model.
  std::vector<std::int32_t> integers(const std::string& name) const;
  // A copy of a U8 tensor. Throws bad_model.
  std::string bytes(const std::string& name) const;

 private:
  const SafeTensor& find(const std::string& name) const;
  template <class T>
  std::span<const T> mapped(const std::string& name, const char* type) const;

  std::filesystem::path path_;
  std::shared_ptr<const void> map_;
  std::span<const std::byte> file_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, SafeTensor> tensors_;
};

// Collects tensors and writes them. They must stay alive until write().
class SafeTensorsWriter {
 public:
  std::map<std::string, std::string> metadata;

  void add(const std::string& name, const tensor::Tensor& tensor);
  void add_integers(const std::string& name, std::span<const std::int32_t> numbers);
  void add_bytes(const std::string& name, std::string_view bytes);
  void add_int8(const std::string& name, std::span<const std::int8_t> numbers);
  // Numbers of f32, stored as BF16: their upper halves.
  void add_bf16(const std::string& name, const tensor::Tensor& tensor);

  // Writes the file in one step (base::AtomicFile); with `keep_as` the file that it replaces stays under that name.
  // Throws system.
  void write(const std::filesystem::path& path, const std::filesystem::path& keep_as = {}) const;

 private:
  struct Entry {
    std::string name;
    std::string type;
    std::vector<std::int64_t> sizes;
    std::string_view bytes;
    tensor::Tensor keep;
    std::shared_ptr<const std::string> made = {};
  };
  std::vector<Entry> entries_;
};

}  // namespace zhuyi::formats
