// Which numbers a translation must not lose, and when one is there.

#include "infer/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zhuyi::infer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> spans(std::string_view text) { return texts_of(text, number_spans(text)); }

TEST(Numbers, WithAPointGroupsOrASign) {
  EXPECT_THAT(spans("Pay €18.10 or 3.14% of 1,000."), ElementsAre("€18.10", "3.14%", "1,000"));
  EXPECT_THAT(spans("$5, 7 €, 9€, 5.5 % and 20%"), ElementsAre("$5", "9€", "5.5 %", "20%"));
  EXPECT_THAT(spans("=F(5.5%/12) returns -57.54, then 3-1.5, −2.5"), ElementsAre("5.5%", "-57.54", "1.5", "−2.5"));
  EXPECT_THAT(spans("Version 2.10.0 has 1,234,567.89 rows, in German 18,10"),
              ElementsAre("2.10.0", "1,234,567.89", "18,10"));
  EXPECT_THAT(spans("价格为18.10元"), ElementsAre("18.10"));
}

TEST(Numbers, PlainIntegersListsScalesAndDatesAreNot) {
  for (const char* text : {"12 pages",
                           "page 7.",
                           "mp3.5",
                           "x_1.5",
                           "1,2,3",
                           "0,4,8",
                           "1.5 million",
                           "$2.5bn",
                           "3.2万",
                           "1.2 亿",
                           "$5 million",
                           "1.5-2 million",
                           "from 1.5 to 2.5 billion",
                           "30.11.2026",
                           "30.11.26",
                           "2026.11.30",
                           "10.30 Uhr",
                           "9.15 a.m.",
                           "https://a.b/1.5",
                           "%1.5f",
                           ""}) {
    EXPECT_THAT(spans(text), IsEmpty()) << text;
  }
}

TEST(Numbers, OneIsThereHoweverItIsGrouped) {
  EXPECT_THAT(lost_numbers("of 1,000", "1000 的").digits, IsEmpty());
  EXPECT_THAT(lost_numbers("of 1,000", "von 1.000").digits, IsEmpty());
  EXPECT_THAT(lost_numbers("3.14 m", "3,14 m").digits, IsEmpty());
  EXPECT_THAT(lost_numbers("1,234.56", "1.234,56").digits, IsEmpty());
  EXPECT_THAT(lost_numbers("1,000 and 1,000", "1,000").digits, IsEmpty());
  EXPECT_THAT(lost_numbers("12 pages", "").digits, IsEmpty());
  EXPECT_THAT(lost_numbers("of 1,000 or 2.5", "10,000").digits, ElementsAre("1,000", "2.5"));
  EXPECT_THAT(lost_numbers("9.00", "900").digits, ElementsAre("9.00"));
  EXPECT_THAT(lost_numbers("57.54", "557.54 或 57.543").digits, ElementsAre("57.54"));
}

TEST(Numbers, ACurrencyMayBecomeAName) {
  EXPECT_THAT(lost_numbers("Pay €18.10", "付 18.10").signs, ElementsAre("€18.10"));
  EXPECT_THAT(lost_numbers("Pay €18.10", "付 18.10").digits, IsEmpty());
  for (const char* text : {"付 18.10 欧元", "付 €18.10", "zahle 18,10 Euro"}) {
    EXPECT_THAT(lost_numbers("Pay €18.10", text).signs, IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace zhuyi::infer
