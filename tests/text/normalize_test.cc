#include "text/normalize.h"

#include <gtest/gtest.h>

namespace zhuyi::text {
namespace {

using namespace std::string_literals;

TEST(Normalize, ComposesCanonically) {
  EXPECT_EQ(nfc("e\u0301"), "\u00e9");
  EXPECT_EQ(nfc("\u212b"), "\u00c5");                // the Angstrom sign is the letter
  EXPECT_EQ(nfc("\u1112\u1161\u11ab"), "\ud55c");    // Hangul
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");  // marks in canonical order
  EXPECT_EQ(nfc("\uf900"), "\u8c48");                // a compatibility ideograph that is canonically another
  EXPECT_EQ(nfc("plain"), "plain");
}

TEST(Normalize, LeavesWhatReadersSee) {
  for (const std::string text : {"，（）：", "Ａ１", "ﬁ", "①", "\u3000a\u00a0b  c\t", "½ ™", "👩‍👧", "𠮷"}) {
    EXPECT_EQ(nfc(text), text);
  }
}

TEST(Normalize, MendsIllFormedText) {
  EXPECT_EQ(nfc("a\xff"
                "b"),
            "a\ufffd"
            "b");
  EXPECT_EQ(nfc("\xe4\xb8"), "\ufffd");
  EXPECT_EQ(nfc("e\u0301\0"s), "\u00e9\0"s);
}

TEST(Normalize, KnowsBlankLines) {
  for (const std::string& line : {""s, " "s, "\t"s, "\u3000"s, "\u00a0"s, "\u200b"s, "\ufeff"s, "\r"s, "\0\x01\x7f"s,
                                  "\u2028"s, " \u200d\u2060\u3000"s}) {
    EXPECT_TRUE(blank(line)) << line;
  }
  for (const std::string& line : {"."s, "\u3000。"s, "\xff"s, "\ufeff\u4e00"s, "👍"s}) EXPECT_FALSE(blank(line)) << line;
}

TEST(Normalize, KnowsHan) {
  EXPECT_TRUE(has_han("abc 字"));
  EXPECT_TRUE(has_han("𠮷"));
  EXPECT_TRUE(has_han("々"));
  for (const std::string text : {"", "abc", "，。（）", "かなカナ", "한글", "１２"})
    EXPECT_FALSE(has_han(text)) << text;
}

}  // namespace
}  // namespace zhuyi::text
