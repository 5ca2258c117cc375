#include "data/mo.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/accelerators.h"
#include "data/files_below.h"
#include "data/html.h"
#include "data/pairs.h"

namespace zhuyi::data {
namespace {

using base::ErrorKind;

constexpr std::uint32_t kMagic = 0x950412de;

// A catalogue's bytes, read with bounds checked.
class Catalogue {
 public:
  explicit Catalogue(std::string_view bytes) : bytes_(bytes) {
    base::check_kind(bytes.size() >= 28, ErrorKind::bad_file, "{} bytes are too few for a message catalogue (.mo)",
                     bytes.size());
    if (number(0) != kMagic) swapped_ = true;
    base::check_kind(number(0) == kMagic, ErrorKind::bad_file,
                     "not a binary message catalogue (.mo): it does not begin with 0x950412de");
    base::check_kind(number(4) >> 16 <= 1, ErrorKind::bad_file, "message catalogue of unknown revision {}",
                     number(4) >> 16);
  }

  std::uint32_t number(std::uint64_t offset) const {
    base::check_kind(offset + 4 <= bytes_.size(), ErrorKind::bad_file,
                     "message catalogue: byte {} lies outside its {} bytes; the file may be cut", offset + 4,
                     bytes_.size());
    std::uint32_t value = 0;
    for (std::uint64_t i = 0; i < 4; ++i) {
      const auto byte = static_cast<std::uint32_t>(static_cast<unsigned char>(bytes_[offset + i]));
      value |= byte << (8 * (swapped_ ? 3 - i : i));
    }
    return value;
  }

  // String `index` of the table at `table`.
  std::string_view string(std::uint64_t table, std::uint64_t index) const {
    const std::uint64_t length = number(table + 8 * index);
    const std::uint64_t offset = number(table + 8 * index + 4);
    base::check_kind(offset + length < bytes_.size(), ErrorKind::bad_file,
                     "message catalogue: text {} of {} bytes at {} lies outside its {} bytes; the file may be cut",
                     index + 1, length, offset, bytes_.size());
    base::check_kind(bytes_[offset + length] == '\0', ErrorKind::bad_file,
                     "message catalogue: text {} does not end with a zero byte", index + 1);
    return bytes_.substr(offset, length);
  }

 private:
  std::string_view bytes_;
  bool swapped_ = false;
};

// The charset of the header entry must be UTF-8 (or its part, ASCII); without one UTF-8 is taken.
void check_charset(std::string_view header) {
  const std::size_t found = header.find("charset=");
  if (found == std::string_view::npos) return;
  std::string charset(header.substr(found + 8));
  charset = charset.substr(0, charset.find_first_of(" \t\r\n;"));
  std::string upper = charset;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  base::check_kind(upper == "UTF-8" || upper == "UTF8" || upper == "US-ASCII" || upper == "ASCII" || upper == "CHARSET",
                   ErrorKind::unsupported,
                   "message catalogue in {}; expected UTF-8: convert it with msgunfmt | msgconv -t UTF-8 | msgfmt",
                   charset);
}

// The part of a LibreOffice context that names the dialogue or list: "part|extended_tip|id".
std::string_view context_part(std::string_view context) {
  const std::size_t bar = context.find('|');
  return bar == std::string_view::npos ? std::string_view() : context.substr(0, bar);
}

SentencePair make_pair(std::string_view source, std::string_view target) {
  TextPair texts{.source = without_formatting(source), .target = without_formatting(target)};
  texts = without_accelerators(std::move(texts));
  return {.source = std::move(texts.source), .target = std::move(texts.target), .document = {}};
}

}  // namespace

std::vector<SentencePair> parse_mo(std::string_view bytes, std::string_view name) {
  const Catalogue catalogue(bytes);
  const std::uint64_t count = catalogue.number(8);
  const std::uint64_t ids = catalogue.number(12);
  const std::uint64_t texts = catalogue.number(16);
  base::check_kind(count <= bytes.size() / 16, ErrorKind::bad_file,
                   "message catalogue: {} entries cannot stand in {} bytes; the file may be cut", count, bytes.size());
  std::vector<SentencePair> pairs;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string_view id = catalogue.string(ids, i);
    const std::string_view translation = catalogue.string(texts, i);
    // Texts do not overlap in a real catalogue; in a hostile one many long entries could share the same bytes.
    total += id.size() + translation.size();
    base::check_kind(total <= bytes.size(), ErrorKind::bad_file,
                     "message catalogue: its texts overlap, {} bytes of text in {}", total, bytes.size());
    if (id.empty()) {
      check_charset(translation);
      continue;
    }
    const std::size_t context_end = id.find('\x04');
    std::string_view part;
    if (context_end != std::string_view::npos) {
      part = context_part(id.substr(0, context_end));
      id.remove_prefix(context_end + 1);
    }
    const auto index = static_cast<std::int64_t>(i);
    const std::size_t before = pairs.size();
    pairs.push_back(make_pair(id.substr(0, id.find('\0')), translation.substr(0, translation.find('\0'))));
    if (const std::size_t plural = id.find('\0'); plural != std::string_view::npos) {
      // rfind gives npos, and npos + 1 is 0, where there is one form.
      pairs.push_back(make_pair(id.substr(plural + 1), translation.substr(translation.rfind('\0') + 1)));
    }
    for (std::size_t k = before; k < pairs.size(); ++k) {
      pairs[k].document = part.empty() ? part_name(name, index) : fmt::format("{}:{}", name, part);
      pairs[k].line = index + 1;
    }
  }
  return pairs;
}

std::vector<SentencePair> read_mo(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files{path};
  if (std::filesystem::is_directory(path)) {
    files.clear();
    for (const std::filesystem::path& relative : files_below(path, {".mo"})) files.push_back(path / relative);
    base::check_kind(!files.empty(), ErrorKind::bad_file, "{} holds no message catalogues (.mo)", path.string());
  }
  std::vector<SentencePair> pairs;
  for (const std::filesystem::path& file : files) {
    const std::string bytes = base::read_file(file);
    std::vector<SentencePair> read =
        base::within(file.string(), [&] { return parse_mo(bytes, file.filename().string()); });
    std::move(read.begin(), read.end(), std::back_inserter(pairs));
  }
  return pairs;
}

}  // namespace zhuyi::data
