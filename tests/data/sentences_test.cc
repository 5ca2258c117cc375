// Sentences of paragraphs, and when two paragraphs are split in step.

#include "data/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zhuyi::data {
namespace {

using testing::ElementsAre;

TEST(SplitSentences, EndsAtPunctuation) {
  EXPECT_THAT(split_sentences("Open the file. Is it there?  Yes! \"Good.\" (Really.) End"),
              ElementsAre("Open the file.", "Is it there?", "Yes!", "\"Good.\"", "(Really.)", "End"));
  EXPECT_THAT(split_sentences("打开文件。在吗？「在。」好！！完"),
              ElementsAre("打开文件。", "在吗？", "「在。」", "好！！", "完"));
  EXPECT_THAT(split_sentences(" \n"), ElementsAre());
  EXPECT_THAT(split_sentences("。"), ElementsAre("。"));
}

TEST(SplitSentences, KeepsWordsWithFullStops) {
  for (const std::string text :
       {"Use e.g. Writer. x", "Version 7.4 of file.txt", "J. S. Bach", "1. Open it", "Choose Insert... Field",
        "See Fig. 3", "the end. of it", "What?no", "a.b.c", "...", "etc. And", "wait... 等"}) {
    EXPECT_THAT(split_sentences(text), ElementsAre(text)) << text;
  }
}

TEST(SplitParagraphs, SplitsOnlyInStep) {
  const std::vector<SentencePair> pairs = split_paragraphs({
      {.source = "Open it. Close it.", .target = "打开它。关闭它。", .document = "d", .line = 7},
      {.source = "One. Two.", .target = "一和二。", .document = "e", .line = 8},
      {.source = "A long first sentence that goes on and on and on. B.",
       .target = "甲。很长很长很长很长很长很长的第二个句子。",
       .document = "f",
       .line = 9},
      {.source = "Single.", .target = "单。", .document = "g", .line = 10},
  });
  ASSERT_EQ(pairs.size(), 5u);
  EXPECT_EQ(pairs[0].source, "Open it.");
  EXPECT_EQ(pairs[0].target, "打开它。");
  EXPECT_EQ(pairs[1].source, "Close it.");
  EXPECT_EQ(pairs[1].target, "关闭它。");
  EXPECT_EQ(pairs[1].document, "d");
  EXPECT_EQ(pairs[1].line, 7);
  EXPECT_EQ(pairs[2].source, "One. Two.");
  EXPECT_EQ(pairs[3].document, "f");  // the lengths show that the second does not match
  EXPECT_EQ(pairs[4].source, "Single.");
}

}  // namespace
}  // namespace zhuyi::data
