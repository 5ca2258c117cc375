#pragma once
// Parallel text in lines: two files of which line n belongs to line n, and tab-separated files.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/pair.h"

namespace zhuyi::data {

// The document names of texts without documents of their own: "NAME#n" for every 50 lines or entries that follow one
// another. Neighbours are often alike, so a split by these parts leaks less than one by single pairs.
std::string part_name(std::string_view name, std::int64_t index);

// Line n of one file with line n of the other, as they stand; documents are part_name() of the source file's name.
// Files may be gzipped. Throws bad_file when the numbers of lines differ or there are none.
std::vector<SentencePair> read_line_pairs(const std::filesystem::path& source, const std::filesystem::path& target);

// The pair in a line "source TAB target", "source TAB target TAB document" or "source TAB target TAB document TAB
// weight", as it stands; without a document (or with a blank one) part_name() of the file's name. `number` counts
// from 1. Throws bad_file, naming both, for another number of columns and for a weight that is no number of at least 0.
SentencePair tsv_pair(std::string_view line, const std::filesystem::path& path, std::int64_t number);

// The pairs of a file of such lines, which may be gzipped. Throws bad_file, also for a file without lines.
std::vector<SentencePair> read_tsv_pairs(const std::filesystem::path& path);

// Throws bad_file, naming the line, for bad UTF-8 and for a blank source or target.
void check_clean(const SentencePair& pair, const std::filesystem::path& path);

// read_tsv_pairs() for a corpus that is clean already, for training and scoring: also throws bad_file, naming the line,
// for bad UTF-8 and for a blank source or target.
std::vector<SentencePair> read_tsv(const std::filesystem::path& path);

}  // namespace zhuyi::data
