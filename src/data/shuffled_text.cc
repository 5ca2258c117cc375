#include "data/shuffled_text.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "data/pairs.h"

namespace zhuyi::data {
namespace {

using base::ErrorKind;

constexpr std::int64_t kBlockLines = 256;
constexpr std::size_t kChunk = std::size_t{1} << 20;  // bytes read at a time

std::ifstream open(const std::filesystem::path& path) {
  base::check_kind(std::filesystem::exists(path), ErrorKind::not_found, "{}: there is no such file", path.string());
  std::ifstream file(path, std::ios::binary);
  base::check_kind(file.good(), ErrorKind::system, "cannot open {}", path.string());
  return file;
}

// Bytes [begin, end) of an open file.
std::string bytes_of(std::ifstream& file, const std::filesystem::path& path, std::int64_t begin, std::int64_t end) {
  std::string bytes(static_cast<std::size_t>(end - begin), '\0');
  file.clear();
  file.seekg(begin);
  file.read(bytes.data(), end - begin);
  base::check_kind(file.gcount() == end - begin, ErrorKind::bad_file, "{} has become shorter since the training began",
                   path.string());
  return bytes;
}

}  // namespace

ShuffledText::ShuffledText(std::vector<WeightedFile> files, std::int64_t pairs, std::uint64_t seed)
    : files_(std::move(files)), blocks_a_part_(std::max<std::int64_t>(1, pairs / kBlockLines)), seed_(seed) {
  base::check(pairs >= 1 && !files_.empty(), "streamed text: {} files, {} pairs at a time; expected at least 1",
              files_.size(), pairs);
  for (std::size_t file = 0; file < files_.size(); ++file) index(static_cast<std::int64_t>(file));
}

void ShuffledText::index(std::int64_t file) {
  const std::filesystem::path& path = files_[static_cast<std::size_t>(file)].path;
  std::ifstream stream = open(path);
  std::string chunk(kChunk, '\0');
  std::int64_t offset = 0;  // of the chunk
  std::int64_t line = 1;
  Block block{.file = file, .begin = 0, .end = 0, .first_line = 1};
  std::uint64_t hash = fingerprint_;
  while (stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size())), stream.gcount() > 0) {
    const std::string_view bytes(chunk.data(), static_cast<std::size_t>(stream.gcount()));
    base::check_kind(offset > 0 || !bytes.starts_with("\x1f\x8b"), ErrorKind::bad_file,
                     "{} is gzipped; a text that is streamed is read from the middle: unpack it first", path.string());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3u;
      if (bytes[i] != '\n') continue;
      block.end = offset + static_cast<std::int64_t>(i) + 1;
      if (++line - block.first_line < kBlockLines) continue;
      blocks_.push_back(block);
      block = {.file = file, .begin = block.end, .end = block.end, .first_line = line};
    }
    offset += static_cast<std::int64_t>(bytes.size());
  }
  if (block.end < offset) {  // a last line without its end
    block.end = offset;
    ++line;
  }
  if (block.end > block.begin) blocks_.push_back(block);
  base::check_kind(line > 1, ErrorKind::bad_file, "{} is empty", path.string());
  fingerprint_ = (hash ^ static_cast<std::uint64_t>(offset)) * 0x100000001b3u;
  lines_ += line - 1;
}

std::vector<std::int64_t> ShuffledText::order(std::int64_t epoch) const {
  constexpr std::uint64_t kPurpose = 0x626c6f636b73;  // "blocks": apart from the shuffle within a part
  base::Random random(base::combine(seed_, kPurpose, static_cast<std::uint64_t>(epoch)));
  std::vector<std::int64_t> blocks;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const double weight = files_[static_cast<std::size_t>(blocks_[i].file)].weight;
    const double whole = std::floor(weight);
    const bool once_more = random.uniform() < weight - whole;
    blocks.insert(blocks.end(), static_cast<std::size_t>(whole) + (once_more ? 1 : 0), static_cast<std::int64_t>(i));
  }
  if (blocks.empty()) blocks.push_back(0);  // an epoch is never without text
  random.shuffle(std::span<std::int64_t>(blocks));
  return blocks;
}

std::int64_t ShuffledText::parts(std::int64_t epoch) const {
  const auto blocks = static_cast<std::int64_t>(order(epoch).size());
  return (blocks + blocks_a_part_ - 1) / blocks_a_part_;
}

std::vector<SentencePair> ShuffledText::read(std::int64_t epoch, std::int64_t part) const {
  const std::vector<std::int64_t> all = order(epoch);
  const std::int64_t begin = part * blocks_a_part_;
  const std::int64_t end = std::min(begin + blocks_a_part_, static_cast<std::int64_t>(all.size()));
  base::check(part >= 0 && begin < end, "streamed text: part {} of an epoch with {} blocks", part, all.size());
  std::vector<std::int64_t> blocks(all.begin() + begin, all.begin() + end);
  std::sort(blocks.begin(), blocks.end());  // in the order of the disk; whoever takes them shuffles the pairs
  std::vector<SentencePair> pairs;
  std::ifstream stream;
  std::int64_t opened = -1;
  for (const std::int64_t number : blocks) {
    const Block& block = blocks_[static_cast<std::size_t>(number)];
    const std::filesystem::path& path = files_[static_cast<std::size_t>(block.file)].path;
    if (block.file != opened) stream = open(path);
    opened = block.file;
    std::int64_t line = block.first_line;
    base::for_each_line(bytes_of(stream, path, block.begin, block.end), [&](std::string_view text) {
      if (line == 1 && text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
      pairs.push_back(tsv_pair(text, path, line++));
      check_clean(pairs.back(), path);
    });
  }
  return pairs;
}

}  // namespace zhuyi::data
