#include "data/corpus.h"

#include <iterator>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "data/html.h"
#include "data/mo.h"
#include "data/pairs.h"
#include "data/sentences.h"

namespace zhuyi::data {
namespace {

using base::ErrorKind;

constexpr std::string_view kForms = "pairs:SOURCE_FILE,TARGET_FILE, tsv:FILE, html:SOURCE_DIR,TARGET_DIR or mo:FILE";

struct ReadSource {
  std::vector<SentencePair> pairs;
  std::int64_t skipped_pages = 0;
};

// "A,B" as two paths. A path may hold commas itself when only one way to part them names two things that exist.
std::pair<std::filesystem::path, std::filesystem::path> two_paths(std::string_view text) {
  std::size_t comma = text.find(',');
  base::check(comma != std::string_view::npos, "\"{}\" names one path, expected two with a comma between", text);
  for (std::size_t i = comma; i != std::string_view::npos; i = text.find(',', i + 1)) {
    if (std::filesystem::exists(text.substr(0, i)) && std::filesystem::exists(text.substr(i + 1))) comma = i;
  }
  return {text.substr(0, comma), text.substr(comma + 1)};
}

ReadSource read_source(std::string_view source) {
  const std::size_t colon = source.find(':');
  const std::string_view form = source.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : source.substr(colon + 1);
  base::check(!rest.empty(), "\"{}\" is no source; expected {}", source, kForms);
  if (form == "tsv") return {.pairs = read_tsv_pairs(rest)};
  if (form == "mo") return {.pairs = read_mo(rest)};
  base::check(form == "pairs" || form == "html", "\"{}\": unknown form \"{}\"; expected {}", source, form, kForms);
  const auto [first, second] = two_paths(rest);
  if (form == "pairs") return {.pairs = read_line_pairs(first, second)};
  HtmlPairs html = read_html(first, second);
  return {.pairs = std::move(html.pairs), .skipped_pages = html.differing + html.unmatched};
}

std::string lines_of(const std::vector<SentencePair>& pairs) {
  std::string lines;
  for (const SentencePair& pair : pairs) {
    lines += pair.source;
    lines += '\t';
    lines += pair.target;
    lines += '\t';
    lines += pair.document;
    if (pair.weight != 1) lines += fmt::format("\t{}", pair.weight);
    lines += '\n';
  }
  return lines;
}

void write_parts(const Split& split, const CorpusOptions& options, CorpusReport& report) {
  std::vector<std::pair<std::filesystem::path, const std::vector<SentencePair>*>> parts{{options.output, &split.train}};
  if (options.split.valid > 0) {
    report.valid_path = part_path(options.output, "valid");
    parts.emplace_back(report.valid_path, &split.valid);
  }
  if (options.split.test > 0) {
    report.test_path = part_path(options.output, "test");
    parts.emplace_back(report.test_path, &split.test);
  }
  std::vector<std::unique_ptr<base::AtomicFile>> files;
  for (const auto& [path, pairs] : parts) {
    files.push_back(std::make_unique<base::AtomicFile>(path));
    files.back()->write(lines_of(*pairs));
  }
  for (const auto& file : files) file->commit();
}

}  // namespace

std::filesystem::path part_path(const std::filesystem::path& output, const std::string& part) {
  return output.parent_path() / (output.stem().string() + "." + part + output.extension().string());
}

CorpusReport make_corpus(const CorpusOptions& options) {
  base::check(!options.sources.empty(), "corpus: no source is given; expected {}", kForms);
  CorpusReport report;
  PairFilter filter(options.filters);
  std::vector<SentencePair> pairs;
  for (const std::string& source : options.sources) {
    ReadSource read = base::within(source, [&] { return read_source(source); });
    // Lines of the other forms are units that someone has chosen already.
    const bool paragraphs = source.starts_with("html:") || source.starts_with("mo:");
    if (options.split_paragraphs && paragraphs) read.pairs = split_paragraphs(std::move(read.pairs));
    base::check_kind(options.filters.target_script != Script::han || !looks_swapped(read.pairs), ErrorKind::bad_file,
                     "{}: most sources are Chinese and their targets are not: swap the two languages (or ask for no "
                     "target script when Chinese is the source language)",
                     source);
    const auto count = static_cast<std::int64_t>(read.pairs.size());
    std::vector<SentencePair> kept = filter.keep(std::move(read.pairs));
    report.read += count;
    report.sources.push_back({.source = source,
                              .read = count,
                              .kept = static_cast<std::int64_t>(kept.size()),
                              .skipped_pages = read.skipped_pages});
    std::move(kept.begin(), kept.end(), std::back_inserter(pairs));
  }
  report.dropped = filter.dropped();
  base::check_kind(!pairs.empty(), ErrorKind::bad_file, "corpus: all {} pairs were dropped; nothing is written",
                   report.read);
  std::unordered_set<std::string_view> documents;
  for (const SentencePair& pair : pairs) documents.insert(pair.document);
  report.documents = static_cast<std::int64_t>(documents.size());

  const Split split = split_corpus(std::move(pairs), options.split);
  report.dropped[static_cast<std::size_t>(Reason::held_out)] = split.leaked;
  report.train = static_cast<std::int64_t>(split.train.size());
  report.valid = static_cast<std::int64_t>(split.valid.size());
  report.test = static_cast<std::int64_t>(split.test.size());
  write_parts(split, options, report);
  return report;
}

}  // namespace zhuyi::data
