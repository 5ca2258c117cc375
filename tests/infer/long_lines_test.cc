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

// What of `line` is not in the parts, which must stand in it one after another.
std::string between(std::string_view line, const std::vector<LinePart>& parts) {
  std::string result;
  for (const LinePart& part : parts) {
    const std::size_t begin = line.find(part.text);
    if (begin == std::string_view::npos) return "'" + part.text + "' does not follow";
    result += line.substr(0, begin);
    line.remove_prefix(begin + part.text.size());
  }
  return result + std::string(line);
}

TEST(LongLines, NothingButWhiteSpaceIsDroppedAndEndsAreReached) {
  std::string line;
  for (int i = 0; i < 500; ++i) line += i % 7 == 0 ? "長い、" : i % 11 == 0 ? "stop. " : "word ";
  const std::vector<LinePart> parts = cut(line, 20);
  EXPECT_GE(parts.size(), 100u);  // of 20 of more than 2,000 characters
  for (const LinePart& part : parts) EXPECT_LE(text::count_characters(part.text), 20);
  const std::string spaces = between(line, parts);
  EXPECT_EQ(spaces, std::string(spaces.size(), ' '));
  EXPECT_LE(spaces.size(), parts.size());
  // Nothing fits: parts of one character, and an end.
  EXPECT_THAT(texts(cut_line("a\u0301字", [](std::string_view) { return false; })), ElementsAre("a", "\u0301", "字"));
}

// Parts that are translated by themselves give the line, where spaces are what the script has.
TEST(LongLines, PartsOfALineJoinedAreTheLine) {
  for (const std::string line :
       {"alpha beta gamma delta", "One, two, three. Four, five, six, yes.", "abcdefghijklmnop", "红橙黄绿，青蓝紫黑",
        "他来了，我走了。我们，再见。", "un été, là-bas; abcx\u0301ef", "한국어 텍스트는 공백이 있다"}) {
    for (const std::int64_t limit : {3, 5, 9, 12, 100}) {
      const std::vector<LinePart> parts = cut(line, limit);
      EXPECT_EQ(join_parts(parts, texts(parts)), line) << limit;
    }
  }
}

TEST(LongLines, JoinsWithASpaceWhereTheScriptHasSpaces) {
  const std::vector<LinePart> parts = {{"a", false}, {"b", false}, {"c", true}, {"d", false}};
  EXPECT_EQ(join_parts(parts, {"One.", "Two", "teen.", "End."}), "One. Twoteen. End.");
  EXPECT_EQ(join_parts(parts, {"一。", "二。", "", "End."}), "一。二。End.");
  EXPECT_EQ(join_parts(parts, {"", "Un é", "", "là"}), "Un é là");
  EXPECT_EQ(join_parts(parts, {"한국", "어", "", ""}), "한국 어");
}

std::string times(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

bool anything_fits(std::string_view) { return true; }

// The parts as "text", "text x times", and in brackets where they are verbatim; with a space before it if there is one.
std::vector<std::string> repeats(const std::string& sentence, std::size_t longest = 1000) {
  std::vector<std::string> result;
  const auto fits = [=](std::string_view text) { return text.size() <= longest; };
  for (const LinePart& part : cut_around_repeats(sentence, fits)) {
    std::string text = part.verbatim ? "[" + part.text + "]" : part.text;
    if (part.times > 1) text += " x " + std::to_string(part.times) + (part.apart ? " apart" : "");
    result.push_back((part.spaced ? " " : "") + text);
  }
  return result;
}

TEST(LongLines, WhatIsRepeatedBecomesOnePart) {
  EXPECT_THAT(repeats(times("hello ", 500)), ElementsAre("hello x 500 apart"));
  EXPECT_THAT(repeats("Oh, " + times("no ", 20) + "no!"), ElementsAre("Oh,", " no x 20 apart", " no!"));
  EXPECT_THAT(repeats(times("to be or not ", 17) + "to"), ElementsAre("to be or not x 17 apart", " to"));
  EXPECT_THAT(repeats(times("a ", 30) + times("b ", 40)), ElementsAre("a x 30 apart", " b x 40 apart"));
  EXPECT_THAT(repeats("Chapter 1 " + times(". ", 20) + "5"), ElementsAre("Chapter 1", " . x 20 apart", " 5"));
  EXPECT_THAT(repeats(times("哈", 20)), ElementsAre("哈 x 20"));
  EXPECT_THAT(repeats(times("你好", 17)), ElementsAre("你好 x 17"));
  EXPECT_THAT(repeats("See " + times("ab", 17) + "a now"), ElementsAre("See", " [" + times("ab", 17) + "a]", " now"));
  EXPECT_THAT(repeats("Title " + times("=", 40)), ElementsAre("Title", " [" + times("=", 40) + "]"));
  EXPECT_THAT(repeats(times("。", 30)), ElementsAre("[" + times("。", 30) + "]"));
}

TEST(LongLines, WhatIsNotRepeatedOftenOrCannotBePartStays) {
  for (const std::string& sentence :
       {std::string(" Close the file. "), times("no ", 16), times("哈", 16), times("哈哈嘿", 17) + "哈",
        times("one two three four five six seven eight nine ", 20), times("Open <b>the</b> file ", 20),
        times("\x01", 20), std::string()}) {
    EXPECT_THAT(repeats(sentence), ElementsAre(sentence));
  }
  EXPECT_THAT(repeats(times("hello ", 20), 4), ElementsAre(times("hello ", 20)));
}

TEST(LongLines, RepeatedPartsAreJoinedAsOftenAsTheyStand) {
  const auto joined = [](const std::string& sentence, const std::vector<std::string>& translations) {
    return join_parts(cut_around_repeats(sentence, anything_fits), translations);
  };
  EXPECT_EQ(joined("Oh, " + times("no ", 20) + "no!", {"Ach,", "nein", "nein!"}),
            "Ach, " + times("nein ", 20) + "nein!");
  EXPECT_EQ(joined("Oh, " + times("no ", 20) + "no!", {"哦，", "不", "不！"}), "哦，" + times("不", 21) + "！");
  EXPECT_EQ(joined(times("哈", 20), {"ha"}), times("ha", 20));
  const std::string leader = "Chapter " + times(".", 20) + " 5";
  EXPECT_EQ(joined(leader, {"第一章", times(".", 20), "5"}), "第一章 " + times(".", 20) + " 5");
  std::vector<LinePart> parts = cut_around_repeats(times(". ", 19) + ".", anything_fits);
  parts.at(0).verbatim = true;
  EXPECT_EQ(join_parts(parts, {"."}), times(". ", 19) + ".");
}

}  // namespace
}  // namespace zhuyi::infer
