// Text files: gzip in one and several members, damaged ones, byte order marks.

#include "data/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "base/error.h"
#include "base/files.h"
#include "temporary_folder.h"

namespace zhuyi::data {
namespace {

using testing::HasSubstr;

// gzip's own writer.
std::string gzip(const std::string& text, const TemporaryFolder& folder) {
  const std::string path = (folder / "written.gz").string();
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return base::read_file(path);
}

TEST(TextFile, UnpacksGzipWhateverItsName) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "line " + std::to_string(i) + "\n";
  base::write_file(folder / "a.txt", gzip(text, folder));
  EXPECT_EQ(read_text_file(folder / "a.txt"), text);
}

TEST(TextFile, UnpacksSeveralMembersAndIgnoresPadding) {
  const TemporaryFolder folder;
  const std::string bytes = gzip("one\n", folder) + gzip("", folder) + gzip("two\n", folder);
  EXPECT_EQ(gunzip(bytes), "one\ntwo\n");
  EXPECT_EQ(gunzip(bytes + std::string(10, '\0')), "one\ntwo\n");
}

TEST(TextFile, RefusesCutAndDamagedGzip) {
  const TemporaryFolder folder;
  const std::string bytes = gzip("some text that is worth packing, packing, packing", folder);
  for (std::size_t size = 2; size < bytes.size(); ++size) {
    EXPECT_THROW(gunzip(bytes.substr(0, size)), base::Error) << size;
  }
  std::string damaged = bytes;
  damaged[bytes.size() - 6] = static_cast<char>(damaged[bytes.size() - 6] ^ 1);  // the checksum
  base::write_file(folder / "bad.gz", damaged);
  try {
    read_text_file(folder / "bad.gz");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_file);
    EXPECT_THAT(error.message(), HasSubstr("bad.gz: gzip: the file is damaged"));
  }
}

TEST(TextFile, TakesOffAByteOrderMarkAndRefusesUtf16) {
  const TemporaryFolder folder;
  base::write_file(folder / "bom", "\xef\xbb\xbfhello");
  EXPECT_EQ(read_text_file(folder / "bom"), "hello");
  base::write_file(folder / "utf16", std::string("\xff\xfeh\0i\0", 6));
  EXPECT_THROW(read_text_file(folder / "utf16"), base::Error);
}

}  // namespace
}  // namespace zhuyi::data
