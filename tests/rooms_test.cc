// The rule of the rooms: a file of src/<room>/ includes only its own room and those before it. Run on this source tree,
// and on a made-up one, to show that it can fail.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace zhuyi {
namespace {

namespace fs = std::filesystem;

// From the foundation up.
constexpr const char* kRooms[] = {"base",  "kernels", "tensor",  "autograd", "ops",     "nn",    "text",   "data",
                                  "optim", "metrics", "formats", "infer",    "library", "train", "server", "cli"};

// The storey of a room, or nothing for a name that is none.
std::optional<std::int64_t> storey(const std::string& room) {
  const auto* const found = std::find(std::begin(kRooms), std::end(kRooms), room);
  if (found == std::end(kRooms)) return std::nullopt;
  return found - std::begin(kRooms);
}

struct Inspection {
  std::int64_t includes = 0;  // of one room's file by another
  std::vector<std::string> violations;
};

// Reads every source file below `root`.
Inspection inspect(const fs::path& root) {
  Inspection result;
  // Highway's foreach_target includes a file by its macro; its name is a path of src/ too.
  const std::regex include(R"re(^\s*#\s*(?:include|define\s+HWY_TARGET_INCLUDE)\s+"([^"/]+)/[^"]*")re");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || (extension != ".h" && extension != ".cc")) continue;
    const fs::path place = entry.path().lexically_relative(root);
    const std::string room = place.begin()->string();
    if (!storey(room)) {
      result.violations.push_back(place.string() + " stands in no room");
      continue;
    }
    std::ifstream file(entry.path());
    std::string line;
    for (std::int64_t number = 1; std::getline(file, line); ++number) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      const std::string other = match[1];
      const std::string where = place.string() + ":" + std::to_string(number) + " includes " + other;
      if (other == "hwy" && room == "kernels") continue;  // the SIMD library, in the one room for it
      if (!storey(other)) {
        result.violations.push_back(where + ", which is no room");
      } else if (*storey(other) > *storey(room)) {
        result.violations.push_back(where + ", which comes after " + room);
      }
      if (other != room) ++result.includes;
    }
  }
  std::sort(result.violations.begin(), result.violations.end());
  return result;
}

TEST(Rooms, HoldsForTheSources) {
  const Inspection found = inspect(fs::path(ZHUYI_SOURCE_DIR) / "src");
  EXPECT_THAT(found.violations, testing::IsEmpty());
  EXPECT_GT(found.includes, 50);  // it has read something
}

TEST(Rooms, CanFail) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  };
  write("ops/good.h",
        "#include <vector>\n#include \"base/error.h\"\n#include \"ops/ops.h\"\n  #  include \"tensor/tensor.h\"\n");
  write("ops/below/deep.cc", "// #include \"nn/config.h\" in a comment\n#include \"good.h\"\n");
  EXPECT_THAT(inspect(folder / ".").violations, testing::IsEmpty());
  EXPECT_EQ(inspect(folder / ".").includes, 2);
  write("ops/upward.cc", "\n#include \"nn/config.h\"\n");
  write("base/top.h", " # include \"cli/command.h\"\n");
  write("tensor/elsewhere.h", "#include \"cellar/wine.h\"\n");
  write("cellar/wine.h", "");
  write("nn/fast.cc", "#include \"hwy/highway.h\"\n");
  write("kernels/fast.cc", "#include \"hwy/highway.h\"\n");
  write("ops/notes.md", "#include \"cli/command.h\"\n");
  EXPECT_THAT(inspect(folder / ".").violations,
              testing::ElementsAre("base/top.h:1 includes cli, which comes after base",
                                   "cellar/wine.h stands in no room", "nn/fast.cc:1 includes hwy, which is no room",
                                   "ops/upward.cc:2 includes nn, which comes after ops",
                                   "tensor/elsewhere.h:1 includes cellar, which is no room"));
}

}  // namespace
}  // namespace zhuyi
