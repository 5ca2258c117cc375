// Splitting by document: shares, the same parts every time, and no sentence of a held-out part in training.

#include "data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace zhuyi::data {
namespace {

// 100 documents of 1 to 10 pairs each, 550 in all.
std::vector<SentencePair> corpus() {
  std::vector<SentencePair> pairs;
  for (int document = 0; document < 100; ++document) {
    for (int i = 0; i <= document % 10; ++i) {
      const std::string name = (document % 2 == 0 ? "help/" : "app/") + std::to_string(document);
      pairs.push_back({.source = name + " " + std::to_string(i), .target = "x", .document = name});
    }
  }
  return pairs;
}

std::set<std::string> documents(const std::vector<SentencePair>& pairs) {
  std::set<std::string> names;
  for (const SentencePair& pair : pairs) names.insert(pair.document);
  return names;
}

TEST(Split, GivesWholeDocumentsUpToTheirShare) {
  const Split split = split_corpus(corpus(), {.valid = 0.1, .test = 0.2});
  EXPECT_EQ(split.train.size() + split.valid.size() + split.test.size(), 550u);
  EXPECT_LE(split.valid.size(), 55u);
  EXPECT_GE(split.valid.size(), 50u);
  EXPECT_LE(split.test.size(), 110u);
  EXPECT_GE(split.test.size(), 105u);
  EXPECT_EQ(documents(split.train).size() + documents(split.valid).size() + documents(split.test).size(), 100u);
  EXPECT_EQ(split.leaked, 0);
}

TEST(Split, DependsOnNamesAndSeedAlone) {
  const SplitOptions options{.valid = 0.1, .test = 0.1};
  const Split first = split_corpus(corpus(), options);
  std::vector<SentencePair> reversed = corpus();
  std::reverse(reversed.begin(), reversed.end());
  const Split second = split_corpus(reversed, options);
  EXPECT_EQ(documents(first.valid), documents(second.valid));
  EXPECT_EQ(documents(first.test), documents(second.test));
  const Split other = split_corpus(corpus(), {.valid = 0.1, .test = 0.1, .seed = 2});
  EXPECT_NE(documents(first.test), documents(other.test));
}

TEST(Split, HoldsOutOnlyDocumentsThatMayBe) {
  const Split split = split_corpus(corpus(), {.valid = 0.1, .test = 0.1, .documents = "^help/"});
  for (const auto* part : {&split.valid, &split.test}) {
    EXPECT_FALSE(part->empty());
    for (const SentencePair& pair : *part) EXPECT_TRUE(pair.document.starts_with("help/"));
  }
}

TEST(Split, RemovesHeldOutSentencesFromTheOtherParts) {
  std::vector<SentencePair> pairs = corpus();
  for (SentencePair& pair : pairs) pair.source = pair.source.substr(pair.source.find(' '));  // " 0" to " 9" all over
  const Split split = split_corpus(pairs, {.valid = 0.1, .test = 0.1});
  std::map<std::string, std::set<int>> parts_of;
  for (const SentencePair& pair : split.train) parts_of[pair.source].insert(0);
  for (const SentencePair& pair : split.valid) parts_of[pair.source].insert(1);
  for (const SentencePair& pair : split.test) parts_of[pair.source].insert(2);
  for (const auto& [source, parts] : parts_of) EXPECT_EQ(parts.size(), 1u) << source;
  EXPECT_EQ(split.train.size() + split.valid.size() + split.test.size() + static_cast<std::size_t>(split.leaked), 550u);
  EXPECT_FALSE(split.test.empty());
}

TEST(Split, WithoutSharesEverythingTrains) {
  const Split split = split_corpus(corpus(), {});
  EXPECT_EQ(split.train.size(), 550u);
}

TEST(Split, RefusesWhatCannotBe) {
  // One pair at most, and all of these documents have more.
  EXPECT_THROW(split_corpus(corpus(), {.test = 0.001, .documents = "[1-9]$"}), base::Error);
  EXPECT_THROW(split_corpus(corpus(), {.valid = 0.1, .documents = "("}), base::Error);
  EXPECT_THROW(split_corpus(corpus(), {.valid = 0.1, .documents = "nowhere"}), base::Error);
  EXPECT_THROW(split_corpus(corpus(), {.valid = 0.5}), base::Error);
}

TEST(ParseSplit, ReadsShares) {
  const SplitOptions both = parse_split("valid=2%,test=0.5%");
  EXPECT_DOUBLE_EQ(both.valid, 0.02);
  EXPECT_DOUBLE_EQ(both.test, 0.005);
  EXPECT_DOUBLE_EQ(parse_split("test=10%").valid, 0);
  for (const char* text : {"valid", "valid=", "valid=2", "valid=%", "dev=2%", "valid=0%", "valid=50%", "valid=-1%",
                           "valid=2%;test=2%", "valid=nan%", "=2%", "valid=2%,,"}) {
    EXPECT_THROW(parse_split(text), base::Error) << text;
  }
}

}  // namespace
}  // namespace zhuyi::data
