// Filters: tidying, and one pair for each reason to drop it.

#include "data/filters.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace zhuyi::data {
namespace {

std::int64_t count(const PairFilter& filter, Reason reason) {
  return filter.dropped()[static_cast<std::size_t>(reason)];
}

SentencePair pair(const std::string& source, const std::string& target) {
  return {.source = source, .target = target, .document = "d"};
}

TEST(Tidy, FoldsWhiteSpaceAndComposes) {
  EXPECT_EQ(tidy("  a \t\r\n b\u00a0\u3000c\u2028"), "a b c");
  EXPECT_EQ(tidy("e\u0301\u200b\ufeff"), "\u00e9");
  EXPECT_EQ(tidy("全角，（标点）：不变"), "全角，（标点）：不变");
  EXPECT_EQ(tidy("👩\u200d💻"), "👩\u200d💻");
  EXPECT_EQ(tidy(" \u3000"), "");
  EXPECT_EQ(tidy("a\xff"), std::nullopt);
  EXPECT_EQ(tidy(std::string("a\0b", 3)), std::nullopt);
  EXPECT_EQ(tidy("a\u0085b"), "a b");
  EXPECT_EQ(tidy("a\u0086b"), std::nullopt);
}

TEST(DropReason, KeepsWhatIsSound) {
  const FilterOptions options;
  EXPECT_EQ(drop_reason("Hello", "你好", options), std::nullopt);
  EXPECT_EQ(drop_reason("OK", "确定", options), std::nullopt);
  EXPECT_EQ(drop_reason("No", "没有这样的文件或目录", options), Reason::ratio);  // 30 > 3 * 2 + 20
  EXPECT_EQ(drop_reason("No", "没有这样的文件", options), std::nullopt);         // 21
}

TEST(DropReason, GivesEachReason) {
  const FilterOptions options{.max_length = 10, .max_ratio = 2, .target_script = Script::han};
  EXPECT_EQ(drop_reason("", "你", options), Reason::empty);
  EXPECT_EQ(drop_reason("you", " ", options), Reason::empty);
  EXPECT_EQ(drop_reason("你", "你", options), Reason::same);
  EXPECT_EQ(drop_reason("01234567890", "你", options), Reason::too_long);
  EXPECT_EQ(drop_reason("you", "一二三四五六七八九十一", options), Reason::too_long);
  EXPECT_EQ(drop_reason("you", "vous，", options), Reason::script);
  EXPECT_EQ(drop_reason("I", "一二三四五六七八九", options), Reason::ratio);  // 27 > 2 * 1 + 20
  const FilterOptions any{.max_length = 10, .max_ratio = 2, .target_script = Script::any};
  EXPECT_EQ(drop_reason("you", "vous", any), std::nullopt);
}

TEST(PairFilter, CountsEachPairOnceAndKeepsTheOrder) {
  PairFilter filter(FilterOptions{});
  const std::vector<SentencePair> kept = filter.keep({
      pair(" Hello\n", "你好"),
      pair("Hello", "您好"),
      pair("Hello", "你好 "),
      pair("x\xff", "你"),
      pair("x", ""),
      pair("GNU", "GNU"),
      pair("yes", "oui"),
      pair(std::string(401, 'x'), std::string(401, 'y')),
      pair("Yes", "一二三四五六七八九十一二三四五"),
      pair("Bye", "再见"),
  });
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].source, "Hello");
  EXPECT_EQ(kept[1].target, "您好");  // another translation of the same source
  EXPECT_EQ(kept[2].source, "Bye");
  EXPECT_EQ(count(filter, Reason::duplicate), 1);
  EXPECT_EQ(count(filter, Reason::bad_text), 1);
  EXPECT_EQ(count(filter, Reason::empty), 1);
  EXPECT_EQ(count(filter, Reason::same), 1);
  EXPECT_EQ(count(filter, Reason::script), 1);
  EXPECT_EQ(count(filter, Reason::too_long), 1);
  EXPECT_EQ(count(filter, Reason::ratio), 1);
  // What an earlier call kept is a duplicate in a later one.
  EXPECT_TRUE(filter.keep({pair("Bye", "再见")}).empty());
  EXPECT_EQ(count(filter, Reason::duplicate), 2);
}

TEST(PairFilter, TidiesDocumentNames) {
  PairFilter filter(FilterOptions{});
  const auto kept = filter.keep({{.source = "a", .target = "一", .document = "a\tb\n"}});
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].document, "a b");
}

TEST(PairFilter, RefusesLimitsBelowOne) {
  EXPECT_THROW(PairFilter(FilterOptions{.max_length = 0}), base::Error);
  EXPECT_THROW(PairFilter(FilterOptions{.max_ratio = 0.5}), base::Error);
}

TEST(LooksSwapped, IsTrueWhenMostSourcesAreHan) {
  EXPECT_TRUE(looks_swapped({pair("你好", "hello"), pair("再见", "bye"), pair("OK", "OK")}));
  EXPECT_FALSE(looks_swapped({pair("hello", "你好"), pair("再见", "bye")}));
  EXPECT_FALSE(looks_swapped({}));
}

}  // namespace
}  // namespace zhuyi::data
