#include "data/pairs.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/text_file.h"
#include "text/normalize.h"
#include "text/utf8.h"

namespace zhuyi::data {
namespace {

using base::ErrorKind;

constexpr double kMaxWeight = 1e6;

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  base::for_each_line(read_text_file(path), [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

std::vector<std::string_view> columns_of(std::string_view line) {
  std::vector<std::string_view> columns;
  for (;;) {
    const std::size_t tab = line.find('\t');
    columns.push_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return columns;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace

std::string part_name(std::string_view name, std::int64_t index) {
  constexpr std::int64_t kEntries = 50;
  return fmt::format("{}#{}", name, index / kEntries + 1);
}

std::vector<SentencePair> read_line_pairs(const std::filesystem::path& source, const std::filesystem::path& target) {
  std::vector<std::string> sources = lines_of(source);
  std::vector<std::string> targets = lines_of(target);
  base::check_kind(sources.size() == targets.size(), ErrorKind::bad_file,
                   "{} has {} lines and {} has {}: line n of one must translate line n of the other", source.string(),
                   sources.size(), target.string(), targets.size());
  base::check_kind(!sources.empty(), ErrorKind::bad_file, "{} and {} are empty", source.string(), target.string());
  const std::string name = source.filename().string();
  std::vector<SentencePair> pairs;
  pairs.reserve(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    pairs.push_back({.source = std::move(sources[i]),
                     .target = std::move(targets[i]),
                     .document = part_name(name, index),
                     .line = index + 1});
  }
  return pairs;
}

SentencePair tsv_pair(std::string_view line, const std::filesystem::path& path, std::int64_t number) {
  const std::vector<std::string_view> columns = columns_of(line);
  base::check_kind(columns.size() >= 2 && columns.size() <= 4, ErrorKind::bad_file,
                   "{}, line {}: {} between tabs; expected source TAB target, and after them document and weight",
                   path.string(), number,
                   columns.size() == 1 ? std::string("one column") : fmt::format("{} columns", columns.size()));
  SentencePair pair{
      .source = std::string(columns[0]), .target = std::string(columns[1]), .document = {}, .line = number};
  if (columns.size() > 2) pair.document = columns[2];
  if (columns.size() == 4) {
    const std::string_view text = columns[3];
    const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), pair.weight);
    base::check_kind(code == std::errc() && rest == text.data() + text.size() && std::isfinite(pair.weight) &&
                         pair.weight >= 0 && pair.weight <= kMaxWeight,
                     ErrorKind::bad_file, "{}, line {}: '{}' is not a weight; expected a number from 0 to {}",
                     path.string(), number, text, kMaxWeight);
  }
  if (columns.size() == 2 || (columns.size() == 4 && pair.document.empty())) {
    pair.document = part_name(path.filename().string(), number - 1);
  }
  return pair;
}

std::vector<SentencePair> read_tsv_pairs(const std::filesystem::path& path) {
  std::vector<SentencePair> pairs;
  base::for_each_line(read_text_file(path), [&](std::string_view line) {
    pairs.push_back(tsv_pair(line, path, static_cast<std::int64_t>(pairs.size()) + 1));
  });
  base::check_kind(!pairs.empty(), ErrorKind::bad_file, "{} is empty", path.string());
  return pairs;
}

void check_clean(const SentencePair& pair, const std::filesystem::path& path) {
  base::check_kind(text::valid_utf8(pair.source) && text::valid_utf8(pair.target), ErrorKind::bad_file,
                   "{}, line {}: not UTF-8; make the file with zhuyi corpus, which leaves such lines out",
                   path.string(), pair.line);
  base::check_kind(!text::blank(pair.source) && !text::blank(pair.target), ErrorKind::bad_file,
                   "{}, line {}: the {} is blank; make the file with zhuyi corpus, which leaves such lines out",
                   path.string(), pair.line, text::blank(pair.source) ? "source" : "target");
}

std::vector<SentencePair> read_tsv(const std::filesystem::path& path) {
  std::vector<SentencePair> pairs = read_tsv_pairs(path);
  for (const SentencePair& pair : pairs) check_clean(pair, path);
  return pairs;
}

}  // namespace zhuyi::data
