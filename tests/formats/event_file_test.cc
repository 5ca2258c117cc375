// Event files byte by byte against TensorBoard's own, and checksums against the standard.

#include "formats/event_file.h"

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "temporary_folder.h"

namespace zhuyi::formats {
namespace {

// RFC 3720, appendix B.4, and the check value of the CRC catalogue.
TEST(EventFile, ChecksumsOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(crc32c(""), 0u);
}

// The same three events as scripts/make_event_golden.py has TensorBoard write.
TEST(EventFile, TheBytesAreTensorBoards) {
  const TemporaryFolder folder;
  EventFile file(folder / "", 1700000000.5, 301);
  EXPECT_EQ(file.path().filename(), "events.out.tfevents.1700000000.zhuyi");
  file.add(2.5, 300, {{"train/loss", 1.25}}, {{"sample", "你好"}});
  EXPECT_EQ(base::read_file(file.path()), base::read_file(std::string(ZHUYI_GOLDEN_DIR) + "/events.tfevents"));
  const EventFile second(folder / "", 1700000000.5, 0);
  EXPECT_EQ(second.path().filename(), "events.out.tfevents.1700000000.zhuyi.1");
}

}  // namespace
}  // namespace zhuyi::formats
