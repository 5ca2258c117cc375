#pragma once
// Parallel text in lines: two files of which line n belongs to line n, and tab-separated files.

#include <filesystem>
#include <string>
#include <vector>

#include "data/pair.h"

namespace zhuyi::data {

// The document names of texts without documents of their own: "NAME#n" for every 50 lines or entries that follow one
// another. Neighbours are often alike, so a split by these parts leaks less than one by single pairs.
std::string part_name(std::string_view name, std::int64_t index);

// Line n of one file with line n of the other, as they stand; documents are part_name() of the source file's name.
// Files may be gzipped. Throws bad_file when the numbers of lines differ or there are none.
std::vector<SentencePair> read_line_pairs(const std::filesystem::path& source, const std::filesystem::path& target);

// Lines "source TAB target" or "source TAB target TAB document", as they stand; without a document part_name() of the
// file's name. Throws bad_file, naming the line, for another number of columns, and for a file without lines.
std::vector<SentencePair> read_tsv_pairs(const std::filesystem::path& path);

// read_tsv_pairs() for a corpus that is clean already, for training and scoring: also throws bad_file, naming the line,
// for bad UTF-8 and for a blank source or target.
std::vector<SentencePair> read_tsv(const std::filesystem::path& path);

}  // namespace zhuyi::data
