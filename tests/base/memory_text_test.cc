// Sizes of memory as people write them.

#include "base/memory_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace zhuyi::base {
namespace {

TEST(MemoryText, UnitsArePowersOf1024) {
  EXPECT_EQ(memory_of("0", "--memory"), 0);
  EXPECT_EQ(memory_of("5000000000", "--memory"), 5'000'000'000);
  EXPECT_EQ(memory_of("3K", "--memory"), 3072);
  EXPECT_EQ(memory_of("200M", "--memory"), 209'715'200);
  EXPECT_EQ(memory_of("8G", "--memory"), 8'589'934'592);
  EXPECT_EQ(memory_of("4294967295G", "--memory"), 4'611'686'017'353'646'080);
}

TEST(MemoryText, RefusesAnythingElseAndNamesTheOption) {
  for (const char* text : {"", "M", "-1", "1.5G", "8GB", "8g", "8 G", "0x10", "4294967296G", "4611686018427387904",
                           "99999999999999999999"}) {
    try {
      memory_of(text, "--memory");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_THAT(error.message(), testing::HasSubstr("--memory is '" + std::string(text) + "'"));
    }
  }
}

}  // namespace
}  // namespace zhuyi::base
