// A lock is held by one process at a time, and ends with it, however it ends.

#include "base/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "base/files.h"
#include "temporary_folder.h"

namespace zhuyi::base {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string refusal(const std::filesystem::path& path) {
  try {
    const FileLock lock(path, "the folder");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::system);
    return error.message();
  }
  return "";
}

TEST(Lock, IsHeldByOneAtATime) {
  const TemporaryFolder folder;
  {
    const FileLock lock(folder / "lock", "the folder");
    EXPECT_THAT(refusal(folder / "lock"),
                AllOf(HasSubstr("the folder is in use by process " + std::to_string(::getpid()) + " on "),
                      HasSubstr("another directory")));
  }
  EXPECT_EQ(refusal(folder / "lock"), "");
  EXPECT_THAT(refusal(folder / "missing" / "lock"), HasSubstr("missing"));
}

TEST(Lock, EndsWithItsProcessThatIsKilled) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const FileLock lock(folder / "lock", "the folder");
    const bool written = ::write(ready[1], "x", 1) == 1;
    while (written) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_THAT(refusal(folder / "lock"), HasSubstr("process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(refusal(folder / "lock"), "");
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace zhuyi::base
