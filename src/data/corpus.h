#pragma once
// The whole way from files of parallel text to a clean corpus on disk: read, tidy, filter, split, write.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/filters.h"
#include "data/pair.h"
#include "data/split.h"

namespace zhuyi::data {

struct CorpusOptions {
  std::vector<std::string> sources;  // "pairs:A,B", "tsv:FILE", "html:DIR,DIR", "mo:FILE" (or a folder of them)
  std::filesystem::path output;      // OUT.tsv; held-out parts go to OUT.valid.tsv and OUT.test.tsv beside it
  bool split_paragraphs = true;      // html and mo: paragraphs of several sentences as sentences (data/sentences.h)
  FilterOptions filters{};
  SplitOptions split{};
};

// What one source gave.
struct SourceReport {
  std::string source;
  std::int64_t read = 0;
  std::int64_t kept = 0;
  std::int64_t skipped_pages = 0;  // pages whose elements differ, or that have no twin
};

struct CorpusReport {
  std::vector<SourceReport> sources;
  std::int64_t read = 0;
  ReasonCounts dropped{};
  std::int64_t documents = 0;  // of all pairs kept
  std::int64_t train = 0;      // pairs written
  std::int64_t valid = 0;
  std::int64_t test = 0;
  std::filesystem::path valid_path{};  // empty where there is no such part
  std::filesystem::path test_path{};
};

// "corpus.tsv" and "valid" give "corpus.valid.tsv"; a name without extension gets ".valid" at its end.
std::filesystem::path part_path(const std::filesystem::path& output, const std::string& part);

// Reads the sources, cleans their pairs and writes them, one a line, as source TAB target TAB document. Files are
// replaced only when all of them are complete. Throws invalid_argument for a source of unknown form, what the readers
// throw (the source named), bad_file when a source has its languages in the wrong order (with target_script han) or
// nothing is left, system when a file cannot be written.
CorpusReport make_corpus(const CorpusOptions& options);

}  // namespace zhuyi::data
