// Sentences of lines, in several languages.

#include "text/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zhuyi::text {
namespace {

using ::testing::ElementsAre;

TEST(SentenceSplitter, EndsAtPunctuation) {
  const SentenceSplitter english;
  EXPECT_THAT(english.split("Open the file. Is it there?  Yes! \"Good.\" (Really.) End"),
              ElementsAre("Open the file.", "Is it there?", "Yes!", "\"Good.\"", "(Really.)", "End"));
  EXPECT_THAT(english.split(" \t"), ElementsAre());
  EXPECT_THAT(english.split(""), ElementsAre());
}

TEST(SentenceSplitter, ChineseAndJapaneseMarksNeedNoSpace) {
  const SentenceSplitter chinese("zh");
  EXPECT_THAT(chinese.split("打开文件。在吗？「在。」好！！完"),
              ElementsAre("打开文件。", "在吗？", "「在。」", "好！！", "完"));
  EXPECT_THAT(chinese.split("先保存；再关闭。"), ElementsAre("先保存；", "再关闭。"));
  EXPECT_THAT(SentenceSplitter("zh", false).split("先保存；再关闭。好"), ElementsAre("先保存；再关闭。", "好"));
  EXPECT_THAT(chinese.split("。"), ElementsAre("。"));
  EXPECT_THAT(chinese.split("好!走吧.真的?"), ElementsAre("好!", "走吧.", "真的?"));
  EXPECT_THAT(chinese.split("𠮷野家。好"), ElementsAre("𠮷野家。", "好"));
  EXPECT_THAT(SentenceSplitter("ja").split("開きます。閉じます。"), ElementsAre("開きます。", "閉じます。"));
  EXPECT_THAT(SentenceSplitter("en").split("打开文件。在吗？"), ElementsAre("打开文件。", "在吗？"));
}

TEST(SentenceSplitter, KeepsWordsWithFullStops) {
  const SentenceSplitter english;
  for (const std::string text : {"Use e.g. Writer, please",
                                 "Version 7.4 of file.txt",
                                 "J. S. Bach",
                                 "1. Open it",
                                 "Choose Insert... Field",
                                 "See Fig. 3",
                                 "the end. of it",
                                 "What?no",
                                 "a.b.c",
                                 "...",
                                 "wait... 等",
                                 "Mr. Smith met Dr. Who",
                                 "It costs 3.14 U.S. Dollars",
                                 "at 5 p.m. today",
                                 "Smith et al. (2017) say",
                                 "Use e.g. Writer. x",
                                 "etc. And",
                                 "Type <?>*<?> in it",
                                 "=Sheet1.A1 or =Sheet2!B2",
                                 "All files (*.*)",
                                 "The %s!%s"}) {
    EXPECT_THAT(english.split(text), ElementsAre(text)) << text;
  }
  EXPECT_THAT(SentenceSplitter("de").split("Das ist z. B. Obst usw. Es schmeckt. Gut."),
              ElementsAre("Das ist z. B. Obst usw. Es schmeckt.", "Gut."));
  EXPECT_THAT(SentenceSplitter("fr").split("M. Dupont arrive. Il dort."), ElementsAre("M. Dupont arrive.", "Il dort."));
}

TEST(SentenceSplitter, LosesNothingButSpace) {
  const std::string text = "One.  Two!\u3000三。 \u00A0Four? 😀 five.\u2028Six";
  std::string joined;
  for (const std::string_view sentence : SentenceSplitter().split(text)) joined += sentence;
  std::string expected;
  for (const char* part : {"One.", "Two!", "三。", "Four?"}) expected += part;
  EXPECT_TRUE(joined.starts_with(expected)) << joined;
  EXPECT_TRUE(joined.ends_with("Six"));
  EXPECT_NE(joined.find("😀"), std::string::npos);
}

TEST(SentenceSplitter, UnknownLanguagesFollowTheRootRules) {
  EXPECT_THAT(SentenceSplitter("tlh").split("Qapla. Heghlu."), ElementsAre("Qapla.", "Heghlu."));
  EXPECT_THAT(SentenceSplitter("not a language!").split("One. Two."), ElementsAre("One.", "Two."));
}

}  // namespace
}  // namespace zhuyi::text
