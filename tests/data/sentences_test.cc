// When two paragraphs are split in step.

#include "data/sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace zhuyi::data {
namespace {

using testing::ElementsAre;

// The sources of the pairs that one becomes.
std::vector<std::string> sources_of(const std::string& source, const std::string& target) {
  std::vector<std::string> sources;
  for (const SentencePair& pair : split_paragraphs({{.source = source, .target = target, .document = ""}})) {
    sources.push_back(pair.source);
  }
  return sources;
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

TEST(SplitParagraphs, SemicolonsAndLineBreaksEndNoSentence) {
  EXPECT_THAT(sources_of("Save it; then close it. Good.", "先保存；再关闭。好。"),
              ElementsAre("Save it; then close it.", "Good."));
  EXPECT_THAT(sources_of("Open the\nFile menu.\nClose it.", "打开文件\n菜单。\n关闭它。"),
              ElementsAre("Open the\nFile menu.", "Close it."));
}

TEST(SplitParagraphs, KnowsWordsWithFullStops) {
  EXPECT_THAT(sources_of("Use e.g. Writer. See Fig. 3.", "例如使用 Writer。见图 3。"),
              ElementsAre("Use e.g. Writer.", "See Fig. 3."));
}

TEST(SplitParagraphs, WhatIsNotUtf8StaysWhole) {
  EXPECT_THAT(sources_of("One \xFF. Two.", "一。二。"), ElementsAre("One \xFF. Two."));
  EXPECT_THAT(sources_of("One. Two.", "一。\xE4\xB8"), ElementsAre("One. Two."));
}

TEST(SplitParagraphs, SentencesKeepTheWeight) {
  const std::vector<SentencePair> pairs =
      split_paragraphs({{.source = "One. Two.", .target = "一。二。", .document = "", .weight = 3}});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[1].weight, 3);
}

}  // namespace
}  // namespace zhuyi::data
