// What is installed, as others use it: the shared library, the headers, the CMake package and the pkg-config file; and
// that the examples of docs/library.md run as they stand there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>

#include "library/library_model.h"
#include "running_program.h"

namespace zhuyi::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Installed into a folder, with a folder beside it where the page's examples are written.
class Package : public LibraryModel {
 protected:
  static void SetUpTestSuite() {
    LibraryModel::SetUpTestSuite();
    const Outcome installed = run_program(
        ZHUYI_CMAKE, {"--install", ZHUYI_BUILD_DIR, "--prefix", file("installed"), "--component", "library"});
    EXPECT_EQ(installed.exit_code, 0) << installed.err;
  }

  // What /bin/sh prints for a script, in the folder of the model, with what is installed at hand.
  static std::string shell(const std::string& script, const std::string& input = "") {
    const std::string surroundings = "set -e\ncd '" + folder().path().string() +
                                     "'\nlib=$(dirname \"$(echo \"$PWD\"/installed/lib*/libzhuyi.so)\")\n"
                                     "export CMAKE_PREFIX_PATH=\"$PWD/installed\" LD_LIBRARY_PATH=\"$lib\"\n"
                                     "export PKG_CONFIG_PATH=\"$lib/pkgconfig\"\n";
    const Outcome outcome = run_program("/bin/sh", {"-c", surroundings + script}, input);
    EXPECT_EQ(outcome.exit_code, 0) << script << "\n" << outcome.err;
    return outcome.out;
  }

  // The blocks of the page, by their language.
  static std::map<std::string, std::vector<std::string>> examples() {
    std::map<std::string, std::vector<std::string>> blocks;
    std::istringstream page(content_of(ZHUYI_SOURCE_DIR "/docs/library.md"));
    std::string language;
    for (std::string line; std::getline(page, line);) {
      if (line.starts_with("```")) {
        language = language.empty() ? line.substr(3) : "";
        if (!language.empty()) blocks[language].emplace_back();
      } else if (!language.empty()) {
        blocks[language].back() += line + "\n";
      }
    }
    return blocks;
  }
};

TEST_F(Package, OutsideProjectsFindItWithCMake) {
  const auto page = examples();
  ASSERT_THAT(page.at("cpp"), SizeIs(2));
  ASSERT_THAT(page.at("cmake"), SizeIs(1));
  folder().write("program.cc", page.at("cpp")[0]);
  folder().write("CMakeLists.txt", page.at("cmake")[0]);
  const std::string out = shell("'" ZHUYI_CMAKE "' -S . -B build -G Ninja > log\n'" ZHUYI_CMAKE
                                "' --build build > log\nbuild/program model.safetensors\n",
                                "Save it!\n\nIs it open?\n");
  EXPECT_EQ(out, expected("Save it!") + "\n\n" + expected("Is it open?") + "\n");
}

TEST_F(Package, OutsideProjectsFindItWithPkgConfig) {
  const auto page = examples();
  ASSERT_THAT(page.at("sh"), SizeIs(2));
  ASSERT_THAT(page.at("c"), SizeIs(1));
  folder().write("program.cc", page.at("cpp")[0]);
  folder().write("program.c", page.at("c")[0]);
  const std::string out =
      shell(page.at("sh")[0] + page.at("sh")[1] + "./program model.safetensors\n./program_of_c\n", "Save it!\n");
  EXPECT_EQ(out.substr(0, out.find('\n')), expected("Save it!"));
  Options narrow;
  narrow.beam = 2;
  EXPECT_EQ(out.substr(out.find('\n') + 1), Translator(model()).translate("Open the file.", narrow) + "\n");
  EXPECT_EQ(shell("pkg-config --modversion zhuyi"), ZHUYI_VERSION "\n");
}

TEST_F(Package, TheLongerExampleOfThePageRuns) {
  folder().write("longer.cc", examples().at("cpp")[1]);
  const std::string out = shell("c++ -std=c++20 longer.cc $(pkg-config --cflags --libs zhuyi) -o longer\n./longer\n");
  Options options;
  options.n_best = 3;
  options.phrases = {{"文件", "档案"}};
  const std::vector<std::string> lines = {"Open the file.", "Save the file."};
  std::ostringstream expected_output;
  for (const Translation& translation : Translator(model()).translate_lines(lines, options)) {
    for (const Alternative& alternative : translation.alternatives) {
      expected_output << alternative.score << "\t" << alternative.text << "\n";
    }
  }
  EXPECT_EQ(out, expected_output.str());
}

TEST_F(Package, PythonUsesIt) {
  const auto page = examples();
  ASSERT_THAT(page.at("python"), SizeIs(1));
  folder().write("program.py", page.at("python")[0]);
  EXPECT_EQ(shell("python3 program.py"), expected("Open the file.") + "\n");
  EXPECT_EQ(
      shell("python3 '" ZHUYI_SOURCE_DIR "/tests/library/ctypes_program.py' libzhuyi.so model.safetensors 'Save it!'"),
      ZHUYI_VERSION "\n" + three_best(model(), "Save it!"));
}

TEST_F(Package, HeadersNeedTheStandardLibraryAlone) {
  std::vector<std::string> headers;
  std::vector<std::string> others;
  const std::regex include(R"re(^\s*#\s*include\s+(.*)$)re");
  const std::regex standard(R"re(<[a-z]+>|<stddef\.h>)re");
  for (const auto& entry : std::filesystem::directory_iterator(folder() / "installed" / "include" / "zhuyi")) {
    headers.push_back(entry.path().filename().string());
    std::istringstream text(content_of(entry.path()));
    for (std::string line; std::getline(text, line);) {
      std::smatch match;
      if (std::regex_match(line, match, include) && !std::regex_match(match[1].str(), standard)) others.push_back(line);
    }
  }
  std::sort(headers.begin(), headers.end());
  EXPECT_THAT(headers, ElementsAre("translator.h", "zhuyi.h"));
  EXPECT_THAT(others, IsEmpty());
}

TEST_F(Package, NothingButTheHeadersIsSeen) {
  std::istringstream symbols(shell("nm -D --defined-only -C \"$lib/libzhuyi.so\""));
  const std::regex shown(
      R"re(\S+ \S (zhuyi_\w+|(vtable |typeinfo |typeinfo name |)(for |)zhuyi::(Error|Shortlist|Translator|version)\b.*))re");
  int count = 0;
  for (std::string line; std::getline(symbols, line); ++count) EXPECT_TRUE(std::regex_match(line, shown)) << line;
  EXPECT_GT(count, 40);
}

}  // namespace
}  // namespace zhuyi::testing
