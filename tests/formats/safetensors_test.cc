// The safetensors container: what is written comes back, files of the format's own library are read, and no damage does
// anything but raise an error.

#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "formats/checksum.h"
#include "temporary_folder.h"

namespace zhuyi::formats {
namespace {

using nlohmann::json;
using tensor::DType;
using tensor::Tensor;
using testing::HasSubstr;

// A file with this header text (its length in front) and this data.
std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

class SafeTensors : public testing::Test {
 protected:
  // The message of the error that opening these bytes raises.
  std::string refused(const std::string& bytes) {
    base::write_file(folder_ / "damaged", bytes);
    try {
      SafeTensorsFile file(folder_ / "damaged");
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::bad_model) << error.message();
      EXPECT_THAT(error.message(), HasSubstr("damaged"));  // the file's name
      return error.message();
    }
    ADD_FAILURE() << "opened: " << bytes.substr(8, 200);
    return "";
  }

  std::string refused_header(const std::string& header, const std::string& data = std::string(64, 'x')) {
    return refused(file_of(header, data));
  }

  TemporaryFolder folder_;
};

// Gives a file with a tensor of each type, and its path.
std::filesystem::path write_example(const TemporaryFolder& folder) {
  SafeTensorsWriter writer;
  writer.metadata["note"] = "waist \"and\" weight, 腰围";
  writer.add_bytes("bytes", std::string_view("a\0b", 3));
  writer.add("single", Tensor::of(2, 3, {1, -2, 3.5, 0, 1e-30, 1e30}));
  const std::vector<std::int32_t> integers = {-5, 0, 2147483647};
  writer.add_integers("integers", integers);
  writer.add("double", Tensor::of(1, 2, {1.0 / 3, -0.0}, DType::f64));
  writer.add("empty", Tensor::zeros(0, 4));
  writer.write(folder / "example");
  return folder / "example";
}

TEST_F(SafeTensors, ComesBack) {
  const SafeTensorsFile file(write_example(folder_));
  EXPECT_EQ(file.metadata().at("note"), "waist \"and\" weight, 腰围");
  EXPECT_EQ(file.tensors().size(), 5u);
  EXPECT_TRUE(file.contains("single"));
  EXPECT_FALSE(file.contains("note"));
  EXPECT_EQ(file.bytes("bytes"), std::string("a\0b", 3));
  EXPECT_EQ(file.tensor("single").shape(), "f32[2, 3]");
  EXPECT_EQ(file.tensor("single").at(1, 2), double{1e30f});
  EXPECT_EQ(file.tensor("double").at(0, 0), 1.0 / 3);
  EXPECT_TRUE(std::signbit(file.tensor("double").at(0, 1)));
  EXPECT_EQ(file.tensor("empty").shape(), "f32[0, 4]");
  EXPECT_THAT(file.integers("integers"), testing::ElementsAre(-5, 0, 2147483647));
}

// CRC-32 bit by bit (ISO 3309: reflected, polynomial edb88320).
std::uint32_t crc32_by_bits(const std::string& bytes) {
  std::uint32_t sum = 0xffffffff;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~sum;
}

TEST(Checksum, IsCrc32) {
  Checksum sum;
  EXPECT_EQ(sum.value(), 0u);
  sum.add("1234");
  sum.add("");
  sum.add("56789");
  EXPECT_EQ(sum.value(), 0xcbf43926u);
  base::Random random(4);
  std::string bytes(3'000'001, '\0');  // more than one thread's piece
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  Checksum large;
  large.add(bytes.substr(0, 5));
  large.add(bytes.substr(5));
  EXPECT_EQ(large.value(), crc32_by_bits(bytes));
}

TEST_F(SafeTensors, CarriesTheChecksumOfAllItsBytes) {
  const std::string bytes = base::read_file(write_example(folder_));
  const SafeTensorsFile file(folder_ / "example");
  file.verify();
  const std::string stated = file.metadata().at("crc32");
  std::string zeros = bytes;
  zeros.replace(zeros.find("\"crc32\":\"" + stated) + 9, 8, "00000000");
  EXPECT_EQ(fmt::format("{:08x}", crc32_by_bits(zeros)), stated);
  // No byte can change unseen: the file is no safetensors file any more, or its checksum is another.
  std::int64_t opened = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 1);
    folder_.write("damaged", other);
    try {
      const SafeTensorsFile damaged(folder_ / "damaged");
      ++opened;
      damaged.verify();
      ADD_FAILURE() << "byte " << i;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::bad_model);
    }
  }
  EXPECT_GE(opened, 40);  // all of the data, at least
}

// Numbers lie at multiples of their size, the data at one of 64: other programs map the file and read in offset.
TEST_F(SafeTensors, IsAligned) {
  const std::string bytes = base::read_file(write_example(folder_));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ((8 + length) % 64, 0u);
  const json header = json::parse(bytes.substr(8, length));
  const std::map<std::string, std::int64_t> widths = {{"F64", 8}, {"F32", 4}, {"I32", 4}, {"U8", 1}};
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    EXPECT_EQ(entry["data_offsets"][0].get<std::int64_t>() % widths.at(entry["dtype"]), 0) << name;
  }
}

TEST_F(SafeTensors, AsksForTheRightType) {
  const SafeTensorsFile file(write_example(folder_));
  const std::pair<const char*, std::function<void()>> wrong[] = {
      {"no tensor named nothing", [&] { file.tensor("nothing"); }},
      {"no tensor named nothing", [&] { file.bytes("nothing"); }},
      {"integers is I32, expected F32, F64 or BF16", [&] { file.tensor("integers"); }},
      {"single is F32, expected I32 or I64", [&] { file.integers("single"); }},
      {"double is F64, expected U8", [&] { file.bytes("double"); }},
  };
  for (const auto& [message, read] : wrong) {
    try {
      read();
      ADD_FAILURE() << message;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::bad_model);
      EXPECT_THAT(error.message(), HasSubstr(message));
    }
  }
}

// Written by safetensors 0.x of Python (scripts/make_golden.py).
TEST_F(SafeTensors, ReadsFilesOfTheFormatsOwnLibrary) {
  const SafeTensorsFile file(std::string(ZHUYI_GOLDEN_DIR) + "/label_smoothing.safetensors");
  EXPECT_EQ(file.metadata().at("label-smoothing"), "0.1");
  EXPECT_EQ(file.tensors().size(), 8u);
  EXPECT_EQ(file.tensor("logits").shape(), "f64[5, 23]");
  EXPECT_EQ(file.tensor("loss.nll").shape(), "f64[1, 1]");
  EXPECT_EQ(file.integers("targets").size(), 5u);
}

TEST_F(SafeTensors, ReadsOtherShapesAndWideIntegers) {
  json header;
  header["cube"] = {{"dtype", "F32"}, {"shape", {2, 1, 3}}, {"data_offsets", {0, 24}}};
  header["number"] = {{"dtype", "F64"}, {"shape", json::array()}, {"data_offsets", {24, 32}}};
  header["wide"] = {{"dtype", "I64"}, {"shape", {2}}, {"data_offsets", {32, 48}}};
  header["large"] = {{"dtype", "I64"}, {"shape", {1}}, {"data_offsets", {48, 56}}};
  std::string data(56, '\0');
  const std::int64_t numbers[] = {-7, 2147483647, 2147483648};
  const double one = 1;
  std::memcpy(data.data() + 24, &one, 8);
  std::memcpy(data.data() + 32, numbers, 24);
  base::write_file(folder_ / "file", file_of(header.dump(), data));
  const SafeTensorsFile file(folder_ / "file");
  EXPECT_EQ(file.tensor("cube").shape(), "f32[2, 3]");
  EXPECT_EQ(file.tensor("number").at(0, 0), 1);
  EXPECT_THAT(file.integers("wide"), testing::ElementsAre(-7, 2147483647));
  EXPECT_THROW(file.integers("large"), base::Error);
}

TEST_F(SafeTensors, FilesThatAreNone) {
  try {
    SafeTensorsFile file(folder_ / "missing");
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::not_found);
  }
  try {
    SafeTensorsFile file(folder_ / ".");
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_model);
  }
  refused("");
  refused("abc");
  refused(std::string(7, '\0'));
  refused(std::string(5000, '\0'));
  refused(std::string(5000, '\xff'));
  refused(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8) + "{}");
  refused(std::string("\x03\0\0\0\0\0\0\0", 8) + "{}");
  refused(std::string("\x01\0\0\0\0\0\0\0", 8) + "{}");
  refused("# Zhuyi\n\nA text file that somebody took for a model.\n");
}

TEST_F(SafeTensors, HeadersThatCannotBe) {
  refused_header("[]");
  refused_header("{");
  refused_header("{}}");
  refused_header("\xff{}");
  refused_header(R"({"a": 1})");
  refused_header(R"({"a": {"dtype": "F32", "shape": [16]}})");
  refused_header(R"({"a": {"dtype": 5, "shape": [16], "data_offsets": [0, 64]}})");
  refused_header(R"({"__metadata__": {"a": 1}, "a": {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}})");
  refused_header(R"({"__metadata__": "text"})");
  EXPECT_THAT(refused_header(R"({"a": {"dtype": "F99", "shape": [16], "data_offsets": [0, 64]}})"), HasSubstr("F99"));
  refused_header(std::string(100000, '['));
  refused_header(R"({"a": )" + std::string(100000, '[') + std::string(100000, ']') + "}");
}

TEST_F(SafeTensors, ShapesAndPlacesThatCannotBe) {
  const auto one = [](const std::string& shape, const std::string& range) {
    return R"({"a": {"dtype": "F32", "shape": )" + shape + R"(, "data_offsets": )" + range + "}}";
  };
  base::write_file(folder_ / "good", file_of(one("[4, 4]", "[0, 64]"), std::string(64, '\0')));
  EXPECT_NO_THROW(SafeTensorsFile(folder_ / "good"));
  for (const char* shape : {"[15]", "[-16]", "[-4, -4]", "[4294967296, 4294967296]", "[9223372036854775807, 16]", "16",
                            "[]", "[18446744073709551600, 16]", "[16.5]", "[1e300]", "[true, 16]", "[\"16\"]", "[null]",
                            "{}", "[0, 9223372036854775807]", "[4611686018427387904, 4]", "[[16]]"}) {
    refused_header(one(shape, "[0, 64]"));
  }
  for (const char* range : {"[0, 65]", "[4, 68]", "[-4, 60]", "[64, 0]", "[0]", "[]", "[0, 64, 64]", "64", "[0, 1e2]",
                            "[0.0, 64]", "[9223372036854775807, 9223372036854775807]", "[18446744073709551552, 0]",
                            "[-9223372036854775808, 9223372036854775807]", "[0, \"64\"]", "[0, 60]"}) {
    refused_header(one("[16]", range));
  }
}

// The format leaves no byte without a tensor and gives none to two.
TEST_F(SafeTensors, GapsAndOverlapsAreDamage) {
  const auto two = [](std::int64_t first, std::int64_t second) {
    json header;
    header["a"] = {{"dtype", "F32"}, {"shape", {8}}, {"data_offsets", {first, first + 32}}};
    header["b"] = {{"dtype", "F32"}, {"shape", {8}}, {"data_offsets", {second, second + 32}}};
    return header.dump();
  };
  base::write_file(folder_ / "good", file_of(two(32, 0), std::string(64, '\0')));
  EXPECT_NO_THROW(SafeTensorsFile(folder_ / "good"));
  EXPECT_THAT(refused_header(two(0, 0)), HasSubstr("does not begin where"));
  EXPECT_THAT(refused_header(two(0, 16)), HasSubstr("tensor b"));
  refused_header(two(0, 36), std::string(68, 'x'));
  refused_header(two(4, 36), std::string(68, 'x'));
  EXPECT_THAT(refused_header(two(0, 32), std::string(65, 'x')), HasSubstr("1 bytes after"));
}

TEST_F(SafeTensors, CutShortAnywhere) {
  const std::string bytes = base::read_file(write_example(folder_));
  for (std::size_t length = 0; length < bytes.size(); length += 7) refused(bytes.substr(0, length));
  refused(bytes.substr(0, bytes.size() - 1));
  const std::string golden = base::read_file(std::string(ZHUYI_GOLDEN_DIR) + "/transformer_post_tied.safetensors");
  for (std::size_t length = 0; length < golden.size(); length += 97) refused(golden.substr(0, length));
}

// A flipped bit of the header gives an error or another file; reading what it names must not leave the map.
TEST_F(SafeTensors, FlippedBitsOfTheHeader) {
  const std::string good = base::read_file(write_example(folder_));
  std::uint64_t length = 0;
  std::memcpy(&length, good.data(), 8);
  base::Random random(1);
  int opened = 0;
  for (int i = 0; i < 500; ++i) {
    std::string bytes = good;
    const auto offset = static_cast<std::size_t>(random.below(8 + static_cast<std::int64_t>(length)));
    bytes[offset] = static_cast<char>(bytes[offset] ^ (1 << random.below(8)));
    base::write_file(folder_ / "flipped", bytes);
    try {
      const SafeTensorsFile file(folder_ / "flipped");
      for (const auto& [name, tensor] : file.tensors()) {
        if (tensor.type == "F32" || tensor.type == "F64") file.tensor(name);
        if (tensor.type == "I32") file.integers(name);
        if (tensor.type == "U8") file.bytes(name);
      }
      ++opened;
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::bad_model) << error.message();
    }
  }
  EXPECT_LT(opened, 400);
}

TEST_F(SafeTensors, AFileThatCannotBeWrittenIsAnErrorAndLeavesTheOldOne) {
  SafeTensorsWriter writer;
  writer.add("a", Tensor::zeros(1, 1));
  try {
    writer.write(folder_ / "no/such/folder/file");
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::system);
  }
}

}  // namespace
}  // namespace zhuyi::formats
