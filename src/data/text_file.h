#pragma once
// Text files as corpora come: plain or compressed with gzip, with or without a byte order mark.

#include <filesystem>
#include <string>
#include <string_view>

namespace zhuyi::data {

// The content of a file, unpacked when it begins as a gzip file does (whatever its name), without a UTF-8 byte order
// mark. Throws not_found, system, and bad_file for a damaged or cut gzip file, one of more than 4 GiB of text, and
// UTF-16.
std::string read_text_file(const std::filesystem::path& path);

// The bytes of a gzip file of one or several members. Throws bad_file as above.
std::string gunzip(std::string_view bytes);

}  // namespace zhuyi::data
