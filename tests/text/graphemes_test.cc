// Characters as readers see them.

#include "text/graphemes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zhuyi::text {
namespace {

using ::testing::ElementsAre;

TEST(Graphemes, JoinersSelectorsTonesAndMarksStay) {
  EXPECT_THAT(grapheme_clusters("a👩‍👩‍👧👍🏽❤️𠮷e\u0301🇩🇪1️⃣ x"),
              ElementsAre("a", "👩‍👩‍👧", "👍🏽", "❤️", "𠮷", "e\u0301", "🇩🇪", "1️⃣", " ", "x"));
  EXPECT_TRUE(grapheme_clusters("").empty());
}

TEST(Graphemes, Symbols) {
  for (const char* text : {"😀", "👩‍👩‍👧", "★", "→", "€", "°", "1️⃣", "‼", "\uE000", "±"})
    EXPECT_TRUE(has_symbol(text)) << text;
  for (const char* text : {"a", "𠮷", "1", ".", "。", "“", " ", "", "é"}) EXPECT_FALSE(has_symbol(text)) << text;
}

}  // namespace
}  // namespace zhuyi::text
