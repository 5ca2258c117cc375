#include "data/files_below.h"

#include <algorithm>
#include <string>
#include <system_error>

#include "base/error.h"

namespace zhuyi::data {

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               const std::vector<std::string_view>& extensions) {
  using base::ErrorKind;
  base::check_kind(std::filesystem::is_directory(folder), ErrorKind::not_found, "{} is no folder", folder.string());
  std::vector<std::filesystem::path> found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(folder, error);
  while (!error && entry != std::filesystem::recursive_directory_iterator()) {
    const std::string extension = entry->path().extension().string();
    const bool wanted = std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
    std::error_code ignored;
    if (wanted && entry->is_regular_file(ignored)) found.push_back(entry->path().lexically_relative(folder));
    entry.increment(error);
  }
  base::check_kind(!error, ErrorKind::system, "cannot list {}: {}", folder.string(), error.message());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace zhuyi::data
