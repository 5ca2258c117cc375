// Where lines that are too long are cut, and how their parts are put together again.

#include "infer/long_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/utf8.h"

namespace zhuyi::infer {
namespace {

using ::testing::ElementsAre;

// At most `limit` characters.
std::vector<LinePart> cut(std::string_view line, std::int64_t limit) {
  return cut_line(line, [=](std::string_view part) { return text::count_characters(part) <= limit; });
}

std::vector<std::string> texts(const std::vector<LinePart>& parts) {
  std::vector<std::string> result;
  for (const LinePart& part : parts) result.emplace_back(part.text);
  return result;
}

TEST(LongLines, ALineThatFitsIsOnePart) {
  EXPECT_THAT(texts(cut(" One. Two. ", 20)), ElementsAre(" One. Two. "));
  EXPECT_TRUE(cut("", 20).empty());
}

TEST(LongLines, SentenceEndsComeFirst) {
  // 38 characters: the end of the first sentence (17) is nearer to the middle than any comma, and is taken before
  // commas are.
  EXPECT_THAT(texts(cut("One, two, three.  Four, five, six, yes.", 25)),
              ElementsAre("One, two, three.", "Four, five, six, yes."));
  EXPECT_THAT(texts(cut("他来了，我走了。我们，再见。", 9)), ElementsAre("他来了，我走了。", "我们，再见。"));
}

TEST(LongLines, ThenPausesAndSpacesNearTheMiddle) {
  EXPECT_THAT(texts(cut("alpha beta gamma delta", 12)), ElementsAre("alpha beta", "gamma delta"));
  EXPECT_THAT(texts(cut("红橙黄绿，青蓝紫黑", 6)), ElementsAre("红橙黄绿，", "青蓝紫黑"));
}

TEST(LongLines, ThenAnywhereButNotBeforeAMark) {
  const std::vector<LinePart> parts = cut("abcdefgh", 4);
  EXPECT_THAT(texts(parts), ElementsAre("abcd", "efgh"));
  EXPECT_FALSE(parts[0].inside_word);
  EXPECT_TRUE(parts[1].inside_word);
  // Eight bytes, the middle between x and its combining acute accent: the cut moves to the nearest end of a character.
  EXPECT_THAT(texts(cut("abcx\u0301ef", 4)), ElementsAre("abc", "x\u0301ef"));
}

TEST(LongLines, NothingIsDroppedAndEndsAreReached) {
  std::string line;
  for (int i = 0; i < 500; ++i) line += i % 7 == 0 ? "長い、" : i % 11 == 0 ? "stop. " : "word ";
  std::string joined;
  for (const LinePart& part : cut(line, 20)) {
    EXPECT_LE(text::count_characters(part.text), 20);
    joined += part.text;
  }
  std::string expected = line;
  std::erase(expected, ' ');
  std::erase(joined, ' ');
  EXPECT_EQ(joined, expected);
  // Nothing fits: parts of one character, and an end.
  EXPECT_THAT(texts(cut_line("a\u0301字", [](std::string_view) { return false; })), ElementsAre("a", "\u0301", "字"));
}

TEST(LongLines, JoinsWithASpaceWhereTheScriptHasSpaces) {
  const std::vector<LinePart> parts = {{"a", false}, {"b", false}, {"c", true}, {"d", false}};
  EXPECT_EQ(join_parts(parts, {"One.", "Two", "teen.", "End."}), "One. Twoteen. End.");
  EXPECT_EQ(join_parts(parts, {"一。", "二。", "", "End."}), "一。二。End.");
  EXPECT_EQ(join_parts(parts, {"", "Un é", "", "là"}), "Un é là");
  EXPECT_EQ(join_parts(parts, {"한국", "어", "", ""}), "한국 어");
}

}  // namespace
}  // namespace zhuyi::infer
