#include "formats/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "formats/checksum.h"

namespace zhuyi::formats {
namespace {

using base::check_kind;
using base::ErrorKind;
using base::fail;
using nlohmann::json;
using tensor::DType;
using tensor::Tensor;

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

constexpr std::int64_t kLargestHeader = 100'000'000;  // the limit of the format's own library

// The checksum in the text of a header: eight digits, which count as zeros in the sum itself.
constexpr std::string_view kChecksumKey = "\"crc32\":\"";
constexpr std::string_view kNoChecksum = "00000000";

// Bytes of one number of a type, or 0 for an unknown one.
std::int64_t bytes_of_type(const std::string& type) {
  static const std::map<std::string, std::int64_t> sizes = {{"F64", 8}, {"I64", 8}, {"U64", 8},  {"F32", 4}, {"I32", 4},
                                                            {"U32", 4}, {"F16", 2}, {"BF16", 2}, {"I16", 2}, {"U16", 2},
                                                            {"I8", 1},  {"U8", 1},  {"BOOL", 1}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

struct MappedFile {
  std::shared_ptr<const void> owner;
  std::span<std::byte> bytes;
};

// Maps a file copy-on-write.
MappedFile map_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const int code = errno;
    fail(code == ENOENT ? ErrorKind::not_found : ErrorKind::system, "cannot open {}: {}", path.string(),
         std::strerror(code));
  }
  struct stat status {};
  void* memory = MAP_FAILED;
  std::size_t size = 0;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size = static_cast<std::size_t>(status.st_size);
    memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
  }
  ::close(descriptor);
  check_kind(memory != MAP_FAILED, ErrorKind::bad_model, "{} is empty or not a regular file", path.string());
  return {std::shared_ptr<const void>(memory, [size](const void* m) { ::munmap(const_cast<void*>(m), size); }),
          {static_cast<std::byte*>(memory), size}};
}

// The numbers of a tensor, with the product checked against overflow.
std::int64_t count_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    check_kind(size >= 0 && (size == 0 || count <= std::numeric_limits<std::int64_t>::max() / 16 / size),
               ErrorKind::bad_model, "a size of {}", size);
    count *= size;
  }
  return count;
}

// A list of whole numbers; the library's own conversion would take 1.5 and true for 1.
std::vector<std::int64_t> whole_numbers(const json& list) {
  std::vector<std::int64_t> numbers;
  for (const json& number : list.get_ref<const json::array_t&>()) {
    check_kind(number.is_number_integer(), ErrorKind::bad_model, "{} is no whole number", number.dump());
    numbers.push_back(number.get<std::int64_t>());  // one beyond the range becomes negative
  }
  return numbers;
}

// One entry of the header, checked against the data behind it.
SafeTensor parse_entry(const std::string& name, const json& entry, std::span<std::byte> data) {
  SafeTensor tensor;
  tensor.type = entry.at("dtype").get<std::string>();
  tensor.sizes = whole_numbers(entry.at("shape"));
  const auto range = whole_numbers(entry.at("data_offsets"));
  const std::int64_t width = bytes_of_type(tensor.type);
  check_kind(width > 0, ErrorKind::bad_model, "tensor {} has the unknown type {}", name, tensor.type);
  const std::int64_t bytes = count_of(tensor.sizes) * width;
  check_kind(range.size() == 2 && range[0] >= 0 && range[0] <= range[1] &&
                 range[1] <= static_cast<std::int64_t>(data.size()) && range[1] - range[0] == bytes,
             ErrorKind::bad_model, "tensor {} of {} bytes lies at bytes {} of {}: the file is cut short or damaged",
             name, bytes, fmt::join(range, " to "), data.size());
  tensor.bytes = data.subspan(static_cast<std::size_t>(range[0]), static_cast<std::size_t>(bytes));
  return tensor;
}

// The format wants the tensors to fill the data without gaps, and no byte to be that of two.
void check_tiling(const std::map<std::string, SafeTensor>& tensors, std::span<const std::byte> data) {
  std::vector<std::pair<std::span<std::byte>, const std::string*>> order;
  for (const auto& [name, tensor] : tensors) order.emplace_back(tensor.bytes, &name);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.data(), a.first.size()) < std::pair(b.first.data(), b.first.size());
  });
  const std::byte* end = data.data();
  for (const auto& [bytes, name] : order) {
    check_kind(bytes.data() == end, ErrorKind::bad_model, "tensor {} does not begin where the one before it ends",
               *name);
    end += bytes.size();
  }
  check_kind(end == data.data() + data.size(), ErrorKind::bad_model, "{} bytes after the last tensor",
             data.data() + data.size() - end);
}

}  // namespace

SafeTensorsFile::SafeTensorsFile(const std::filesystem::path& path) : path_(path) {
  const MappedFile file = map_file(path);
  map_ = file.owner;
  file_ = file.bytes;
  const auto size = static_cast<std::int64_t>(file.bytes.size());
  base::within(path.string(), [&] {
    std::uint64_t length = 0;
    check_kind(size >= 8, ErrorKind::bad_model, "{} bytes are no safetensors file", size);
    std::memcpy(&length, file.bytes.data(), 8);
    check_kind(length >= 2 && length <= static_cast<std::uint64_t>(std::min(kLargestHeader, size - 8)),
               ErrorKind::bad_model, "not a safetensors file, or cut short: a header of {} bytes in {} bytes", length,
               size);
    const auto header_length = static_cast<std::size_t>(length);
    const std::string_view text(reinterpret_cast<const char*>(file.bytes.data()) + 8, header_length);
    const std::span<std::byte> data = file.bytes.subspan(8 + header_length);
    try {
      const json header = json::parse(text);
      check_kind(header.is_object(), ErrorKind::bad_model, "the header is no JSON object");
      for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") {
          metadata_ = entry.get<std::map<std::string, std::string>>();
        } else {
          tensors_.emplace(name, parse_entry(name, entry, data));
        }
      }
      check_tiling(tensors_, data);
    } catch (const json::exception& error) {
      fail(ErrorKind::bad_model, "the header is damaged: {}", error.what());
    }
  });
}

void SafeTensorsFile::verify() const {
  const std::string_view bytes(reinterpret_cast<const char*>(file_.data()), file_.size());
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  std::string head(bytes.substr(0, 8 + length));
  const std::size_t key = head.find(kChecksumKey);
  const std::size_t at = key + kChecksumKey.size();
  check_kind(key != std::string::npos && at + kNoChecksum.size() < head.size(), ErrorKind::bad_model,
             "{} has no checksum: it is damaged, or not of this version", path_.string());
  const std::string stated = head.substr(at, kNoChecksum.size());
  head.replace(at, kNoChecksum.size(), kNoChecksum);
  Checksum sum;
  sum.add(head);
  sum.add(bytes.substr(head.size()));
  const std::string found = fmt::format("{:08x}", sum.value());
  check_kind(found == stated, ErrorKind::bad_model, "{} is damaged: its checksum is {}, its bytes give {}",
             path_.string(), stated, found);
}

const SafeTensor& SafeTensorsFile::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  check_kind(found != tensors_.end(), ErrorKind::bad_model, "{}: no tensor named {}", path_.string(), name);
  return found->second;
}

Tensor SafeTensorsFile::tensor(const std::string& name) const {
  const SafeTensor& found = find(name);
  const bool half = found.type == "BF16";
  check_kind(half || found.type == "F32" || found.type == "F64", ErrorKind::bad_model,
             "{}: tensor {} is {}, expected F32, F64 or BF16", path_.string(), name, found.type);
  const std::int64_t columns = found.sizes.empty() ? 1 : found.sizes.back();
  const std::int64_t count = count_of(found.sizes);
  Tensor copy(columns == 0 ? 0 : count / columns, columns, found.type == "F64" ? DType::f64 : DType::f32);
  if (half) {
    const std::span<float> numbers = copy.data<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::uint16_t upper = 0;
      std::memcpy(&upper, found.bytes.data() + 2 * i, sizeof upper);
      numbers[i] = std::bit_cast<float>(static_cast<std::uint32_t>(upper) << 16);
    }
    return copy;
  }
  tensor::visit(copy.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (copy.size() > 0) std::memcpy(copy.data<T>().data(), found.bytes.data(), found.bytes.size());
  });
  return copy;
}

template <class T>
std::span<const T> SafeTensorsFile::mapped(const std::string& name, const char* type) const {
  const SafeTensor& found = find(name);
  const bool aligned = reinterpret_cast<std::uintptr_t>(found.bytes.data()) % alignof(T) == 0;
  check_kind(found.type == type && aligned, ErrorKind::bad_model, "{}: tensor {} is {}, expected {}{}", path_.string(),
             name, found.type, type, aligned ? "" : " at a multiple of its number's bytes");
  return {reinterpret_cast<const T*>(found.bytes.data()), found.bytes.size() / sizeof(T)};
}

std::span<const std::int8_t> SafeTensorsFile::mapped_bytes(const std::string& name) const {
  return mapped<std::int8_t>(name, "I8");
}

std::span<const float> SafeTensorsFile::mapped_numbers(const std::string& name) const {
  return mapped<float>(name, "F32");
}

std::span<const std::int32_t> SafeTensorsFile::mapped_integers(const std::string& name) const {
  return mapped<std::int32_t>(name, "I32");
}

std::vector<std::int32_t> SafeTensorsFile::integers(const std::string& name) const {
  const SafeTensor& found = find(name);
  check_kind(found.type == "I32" || found.type == "I64", ErrorKind::bad_model,
             "{}: tensor {} is {}, expected I32 or I64", path_.string(), name, found.type);
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(count_of(found.sizes)));
  if (numbers.empty()) return numbers;
  if (found.type == "I32") {
    std::memcpy(numbers.data(), found.bytes.data(), found.bytes.size());
    return numbers;
  }
  std::vector<std::int64_t> wide(numbers.size());
  std::memcpy(wide.data(), found.bytes.data(), found.bytes.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    check_kind(wide[i] == static_cast<std::int32_t>(wide[i]), ErrorKind::bad_model, "{}: {} in tensor {} is too large",
               path_.string(), wide[i], name);
    numbers[i] = static_cast<std::int32_t>(wide[i]);
  }
  return numbers;
}

std::string SafeTensorsFile::bytes(const std::string& name) const {
  const SafeTensor& found = find(name);
  check_kind(found.type == "U8", ErrorKind::bad_model, "{}: tensor {} is {}, expected U8", path_.string(), name,
             found.type);
  return std::string(reinterpret_cast<const char*>(found.bytes.data()), found.bytes.size());
}

void SafeTensorsWriter::add(const std::string& name, const Tensor& tensor) {
  tensor::visit(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::span<const T> numbers = tensor.data<T>();
    entries_.push_back({name,
                        std::is_same_v<T, float> ? "F32" : "F64",
                        {tensor.rows(), tensor.columns()},
                        {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()},
                        tensor});
  });
}

void SafeTensorsWriter::add_integers(const std::string& name, std::span<const std::int32_t> numbers) {
  entries_.push_back({name,
                      "I32",
                      {static_cast<std::int64_t>(numbers.size())},
                      {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()},
                      {}});
}

void SafeTensorsWriter::add_bytes(const std::string& name, std::string_view bytes) {
  entries_.push_back({name, "U8", {static_cast<std::int64_t>(bytes.size())}, bytes, {}});
}

void SafeTensorsWriter::add_int8(const std::string& name, std::span<const std::int8_t> numbers) {
  entries_.push_back(
      {name, "I8", {std::ssize(numbers)}, {reinterpret_cast<const char*>(numbers.data()), numbers.size()}, {}});
}

void SafeTensorsWriter::add_bf16(const std::string& name, const Tensor& tensor) {
  const std::span<const float> numbers = tensor.data<float>();
  auto bytes = std::make_shared<std::string>(2 * numbers.size(), '\0');
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto upper = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(numbers[i]) >> 16);
    std::memcpy(bytes->data() + 2 * i, &upper, sizeof upper);
  }
  entries_.push_back({name, "BF16", {tensor.rows(), tensor.columns()}, *bytes, {}, bytes});
}

void SafeTensorsWriter::write(const std::filesystem::path& path, const std::filesystem::path& keep_as) const {
  // I8 tensors of whole cache lines first: they are read where they are mapped, by whole lines. Then wide types before
  // narrow ones: then every tensor lies at a multiple of its number's size.
  std::vector<const Entry*> order;
  for (const Entry& entry : entries_) order.push_back(&entry);
  const auto rank = [](const Entry* entry) {
    return entry->type == "I8" && entry->bytes.size() % 64 == 0 ? 64 : bytes_of_type(entry->type);
  };
  std::stable_sort(order.begin(), order.end(), [&](const Entry* a, const Entry* b) { return rank(a) > rank(b); });
  json header = json::object();
  header["__metadata__"] = metadata;
  header["__metadata__"]["crc32"] = kNoChecksum;
  std::size_t offset = 0;
  for (const Entry* entry : order) {
    header[entry->name] = {
        {"dtype", entry->type}, {"shape", entry->sizes}, {"data_offsets", {offset, offset + entry->bytes.size()}}};
    offset += entry->bytes.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 8 + 63) / 64 * 64 - 8, ' ');  // the data starts at a multiple of 64 bytes
  const std::uint64_t length = text.size();
  const std::string_view length_bytes(reinterpret_cast<const char*>(&length), sizeof length);
  Checksum sum;
  sum.add(length_bytes);
  sum.add(text);
  for (const Entry* entry : order) sum.add(entry->bytes);
  text.replace(text.find(kChecksumKey) + kChecksumKey.size(), kNoChecksum.size(), fmt::format("{:08x}", sum.value()));
  base::AtomicFile file(path);
  file.write(length_bytes);
  file.write(text);
  for (const Entry* entry : order) file.write(entry->bytes);
  file.commit(keep_as);
}

}  // namespace zhuyi::formats
