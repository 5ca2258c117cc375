// Scripts of letters, by the blocks of the Unicode Standard that hold them.

#include "text/scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zhuyi::text {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> scripts_of(const std::vector<std::string_view>& texts, double least_share) {
  return main_scripts(texts, least_share);
}

TEST(Scripts, AreThoseOfEnoughLetters) {
  // Letters: 8 Latin, 4 Han, 2 Cyrillic, 1 Kana. Figures, signs, the length mark of Kana and the combining accent are
  // of no script of their own.
  const std::vector<std::string_view> texts = {"Öffne it 1,000 €", "打开文件。", "да ア ー", "e\u0301 😀"};
  EXPECT_THAT(scripts_of(texts, 0), ElementsAre("Cyrl", "Hani", "Kana", "Latn"));
  EXPECT_THAT(scripts_of(texts, 2.0 / 15), ElementsAre("Cyrl", "Hani", "Latn"));
  EXPECT_THAT(scripts_of(texts, 0.2), ElementsAre("Hani", "Latn"));
  EXPECT_THAT(scripts_of({"42", ""}, 0), IsEmpty());
}

TEST(Scripts, OfOneLetterAreEnough) {
  const std::vector<std::string> scripts = {"Hani", "Latn"};
  for (const std::string_view text : {"a", "Ж é", "否", "𠮷", "1 of 2"})
    EXPECT_TRUE(has_letter_of(text, scripts)) << text;
  for (const std::string_view text : {"", "42!", "Жук", "한국어", "ความ", "ー", "😀"}) {
    EXPECT_FALSE(has_letter_of(text, scripts)) << text;
  }
}

}  // namespace
}  // namespace zhuyi::text
