#include "text/utf8.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace zhuyi::text {
namespace {

using namespace std::string_literals;

TEST(Utf8, KnowsWellFormedText) {
  EXPECT_TRUE(valid_utf8(""));
  EXPECT_TRUE(valid_utf8("a\0b"s));
  EXPECT_TRUE(valid_utf8("\xf0\xa0\xae\xb7"));  // U+20BB7
  EXPECT_TRUE(valid_utf8("\xf4\x8f\xbf\xbf"));  // U+10FFFF
  for (const std::string bad :
       {"\xff", "\xe4\xb8", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80", "\xe4\xb8z"}) {
    EXPECT_FALSE(valid_utf8(bad)) << bad;
  }
}

// The examples of Unicode Standard 15, tables 3-8 to 3-11 (substitution of maximal subparts).
TEST(Utf8, ReplacesMaximalSubparts) {
  const std::string r = "\ufffd";
  EXPECT_EQ(replace_invalid_utf8("\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(replace_invalid_utf8("\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(replace_invalid_utf8("\xf4\x91\x92\x93\xff\x41\x80\xbf\x42"), r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(replace_invalid_utf8("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41"), r + r + r + r + "A");
  EXPECT_EQ(replace_invalid_utf8("词\0 ok"s), "词\0 ok"s);
}

TEST(Utf8, GoesToCodePointsAndBack) {
  const std::u32string points = {U'a', 0xe9, 0x4e2d, 0x20bb7, 0};
  const std::string bytes = "a\xc3\xa9\xe4\xb8\xad\xf0\xa0\xae\xb7\0"s;
  EXPECT_EQ(encode_utf8(points), bytes);
  EXPECT_EQ(decode_utf8(bytes), std::vector<char32_t>(points.begin(), points.end()));
  EXPECT_EQ(decode_utf8("\xff"), std::vector<char32_t>{0xfffd});
  EXPECT_EQ(count_characters(bytes), 5);
  EXPECT_EQ(count_characters("\xe4\xb8z"), 2);
  EXPECT_THROW(encode_utf8(std::u32string{char32_t{0xd800}}), base::Error);
  EXPECT_THROW(encode_utf8(std::u32string{char32_t{0x110000}}), base::Error);
}

}  // namespace
}  // namespace zhuyi::text
