#pragma once
// The files of a folder and the folders below it, in an order that does not depend on the file system.

#include <filesystem>
#include <string_view>
#include <vector>

namespace zhuyi::data {

// Paths relative to `folder` of the files with one of the extensions (".html"), sorted. Links to folders are not
// followed. Throws not_found when `folder` is no folder, system when one cannot be read.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               const std::vector<std::string_view>& extensions);

}  // namespace zhuyi::data
