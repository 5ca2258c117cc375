// Files: whole reads, writes that leave the old file or the new one, and what a line is.

#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "base/error.h"
#include "temporary_folder.h"

namespace zhuyi::base {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  std::int64_t entries() const {
    const std::filesystem::directory_iterator all(folder_ / ".");
    return std::distance(begin(all), end(all));
  }

  // The error that `body` raises names the file.
  static void expect_error(ErrorKind kind, const std::string& name, const std::function<void()>& body) {
    try {
      body();
      ADD_FAILURE() << "no error for " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.message();
      EXPECT_THAT(error.message(), HasSubstr(name));
    }
  }

  TemporaryFolder folder_;
};

TEST_F(Files, WhatIsWrittenIsRead) {
  std::string bytes = "one\ntwo\r\n";
  bytes += '\0';
  bytes += std::string(200000, '\xff');
  write_file(folder_ / "file", bytes);
  EXPECT_TRUE(read_file(folder_ / "file") == bytes);
  write_file(folder_ / "file", "");
  EXPECT_EQ(read_file(folder_ / "file"), "");
  append_file(folder_ / "file", "a");
  append_file(folder_ / "file", "b");
  append_file(folder_ / "new", "c");
  EXPECT_EQ(read_file(folder_ / "file"), "ab");
  EXPECT_EQ(read_file(folder_ / "new"), "c");
  EXPECT_EQ(entries(), 2);
}

TEST_F(Files, WithoutCommitNothingChanges) {
  write_file(folder_ / "file", "old");
  {
    AtomicFile file(folder_ / "file");
    file.write("half of the n");
    EXPECT_EQ(read_file(folder_ / "file"), "old");
  }
  EXPECT_EQ(read_file(folder_ / "file"), "old");
  EXPECT_EQ(entries(), 1);  // no rest of it
  {
    AtomicFile file(folder_ / "file");
    file.write("the ");
    file.write("new");
    EXPECT_EQ(read_file(folder_ / "file"), "old");
    file.commit();
    EXPECT_EQ(read_file(folder_ / "file"), "the new");
  }
  EXPECT_EQ(read_file(folder_ / "file"), "the new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, AFolderInTheWayIsAnErrorAndStays) {
  base::create_directories(folder_ / "taken/inside");
  expect_error(ErrorKind::system, "taken", [&] { write_file(folder_ / "taken", "text"); });
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "taken/inside"));
  EXPECT_EQ(entries(), 1);
}

TEST_F(Files, PlacesThatCannotBeWritten) {
  expect_error(ErrorKind::system, "missing/file", [&] { write_file(folder_ / "missing/file", "text"); });
  expect_error(ErrorKind::system, "missing/file", [&] { append_file(folder_ / "missing/file", "text"); });
  write_file(folder_ / "file", "text");
  expect_error(ErrorKind::system, "file/below", [&] { write_file(folder_ / "file/below", "text"); });
  expect_error(ErrorKind::system, "file/below", [&] { base::create_directories(folder_ / "file/below"); });
  EXPECT_EQ(read_file(folder_ / "file"), "text");
  if (::geteuid() == 0) return;  // root may write everywhere
  std::filesystem::create_directory(folder_ / "locked");
  std::filesystem::permissions(folder_ / "locked", std::filesystem::perms::owner_read);
  expect_error(ErrorKind::system, "locked/file", [&] { write_file(folder_ / "locked/file", "text"); });
  std::filesystem::permissions(folder_ / "locked", std::filesystem::perms::owner_all);
}

TEST_F(Files, ADiskThatIsFull) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  expect_error(ErrorKind::system, "/dev/full", [] { append_file("/dev/full", "text"); });
}

TEST_F(Files, WhatCannotBeRead) {
  expect_error(ErrorKind::not_found, "missing", [&] { read_file(folder_ / "missing"); });
  std::filesystem::create_directory(folder_ / "folder");
  expect_error(ErrorKind::bad_file, "folder", [&] { read_file(folder_ / "folder"); });
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for_each_line(text, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

TEST(Lines, EndWithLfOrCrlfAndTheLastMayLackIt) {
  EXPECT_THAT(lines_of(""), ElementsAre());
  EXPECT_THAT(lines_of("a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("a\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("a\n\n"), ElementsAre("a", ""));
  EXPECT_THAT(lines_of("\n"), ElementsAre(""));
  EXPECT_THAT(lines_of("\n\na"), ElementsAre("", "", "a"));
  EXPECT_THAT(lines_of("a\r\nb\r\n"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("a\r\nb\r"), ElementsAre("a", "b"));
  EXPECT_THAT(lines_of("a\r\r\nb"), ElementsAre("a\r", "b"));
}

// A lone CR, U+2028, a form feed, NUL and a byte order mark are text.
TEST(Lines, NothingElseEndsALine) {
  EXPECT_THAT(lines_of("a\rb\n"), ElementsAre("a\rb"));
  EXPECT_THAT(lines_of("a\u2028b\f\v\u0085c\n"), ElementsAre("a\u2028b\f\v\u0085c"));
  EXPECT_THAT(lines_of(std::string_view("a\0b\n\0", 5)), ElementsAre(std::string("a\0b", 3), std::string(1, '\0')));
  EXPECT_THAT(lines_of("\ufeffa"), ElementsAre("\ufeffa"));
}

TEST_F(Files, TheFileThatIsReplacedCanStayUnderAnotherName) {
  const TemporaryFolder folder;
  for (const char* text : {"one", "two", "three"}) {
    AtomicFile file(folder / "file");
    file.write(text);
    file.commit(folder / "before");
  }
  EXPECT_EQ(read_file(folder / "file"), "three");
  EXPECT_EQ(read_file(folder / "before"), "two");
  {
    AtomicFile file(folder / "file");
    file.write("four");
  }
  EXPECT_EQ(read_file(folder / "file"), "three");
  EXPECT_EQ(read_file(folder / "before"), "two");
}

TEST_F(Files, WhatKilledProcessesLeaveIsRemovedAndNothingElse) {
  const TemporaryFolder folder;
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const std::string left = "model." + std::to_string(gone) + ".part";
  const std::string alive = "model." + std::to_string(::getppid()) + ".part";
  for (const std::string& name : {left, alive, std::string("model"), std::string("a.part"), std::string("b.1x.part")}) {
    write_file(folder / name, "text");
  }
  remove_unfinished(folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder / left));
  for (const std::string& name : {alive, std::string("model"), std::string("a.part"), std::string("b.1x.part")}) {
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  }
  remove_unfinished(folder / "missing");
}

}  // namespace
}  // namespace zhuyi::base
