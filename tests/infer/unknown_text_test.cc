// Characters that a vocabulary lacks, and how sentences are cut around them.

#include "infer/unknown_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "infer/long_lines.h"
#include "infer/numbers.h"
#include "infer/shared_translator.h"

namespace zhuyi::infer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> spans(const text::Tokenizer& tokenizer, std::string_view text,
                               const std::vector<std::string>& scripts = {}) {
  return texts_of(text, unknown_spans(tokenizer, text, scripts));
}

// The small tokenizer has read "The file is open.", "文件已打开。" and the like.
TEST(UnknownText, SymbolsAndRareHanAsWholeClusters) {
  const text::Tokenizer tokenizer = small_tokenizer();
  EXPECT_THAT(spans(tokenizer, "😀 open the 𠮷 file 👩‍👩‍👧."),
              ElementsAre("😀", "𠮷", "👩‍👩‍👧"));
  EXPECT_THAT(spans(tokenizer, "open 👍🏽❤️!"), ElementsAre("👍🏽❤️"));
  EXPECT_THAT(spans(tokenizer, "close €18.10, or 5★."), ElementsAre("€18.10", "5★"));
  EXPECT_THAT(spans(tokenizer, "open the file <b title=\"★\">"), IsEmpty()) << "inside a tag";
}

TEST(UnknownText, LettersOfItsScriptsSpeltInBytesAreTheModels) {
  const text::Tokenizer tokenizer = small_tokenizer();
  EXPECT_THAT(spans(tokenizer, "Dvořák “open” 饕餮"), IsEmpty());
  EXPECT_THAT(spans(tokenizer, "Dvořák 饕餮打开 file", {"Latn"}), ElementsAre("饕餮打开"));
  EXPECT_THAT(spans(tokenizer, "Жук открыл file", {"Latn"}), ElementsAre("Жук", "открыл"));
  EXPECT_THAT(spans(tokenizer, "文件𠮷打开", {"Hani"}), ElementsAre("𠮷"));
}

TEST(UnknownText, WithoutBytesEveryLetterThatIsLacking) {
  text::TokenizerTraining options;
  options.size = 100;
  options.size_is_limit = true;
  options.byte_fallback = false;
  options.threads = 1;
  const text::Tokenizer tokenizer(text::train_tokenizer(training_lines(), options));
  EXPECT_THAT(spans(tokenizer, "open Dvořák now 😀."), ElementsAre("Dvořák", "😀"));
  EXPECT_THAT(spans(tokenizer, "文件饕打开"), ElementsAre("饕"));
  EXPECT_THAT(spans(tokenizer, "open the file"), IsEmpty());
}

std::vector<std::string> texts(const std::vector<LinePart>& parts) {
  std::vector<std::string> result;
  for (const LinePart& part : parts) result.push_back((part.verbatim ? "=" : "") + part.text);
  return result;
}

TEST(UnknownText, TheEndOfASentenceGoesBeforeTheSymbols) {
  const text::Tokenizer tokenizer = small_tokenizer();
  const auto cut = [&](std::string_view text) {
    return texts(cut_around_unknown(text, unknown_spans(tokenizer, text, {})));
  };
  EXPECT_THAT(cut("😀 open the 𠮷 file 👩‍👩‍👧."),
              ElementsAre("=😀", "open the", "=𠮷", "file.", "=👩‍👩‍👧"));
  EXPECT_THAT(cut("文件打开😀。"), ElementsAre("文件打开。", "=😀"));
  EXPECT_THAT(cut("open 𠮷."), ElementsAre("open", "=𠮷", "."));
  EXPECT_THAT(cut("open 😀 - 5"), ElementsAre("open", "=😀", "- 5"));
}

class UnknownTextTest : public SharedTranslator {
 protected:
  std::string translate(const std::string& line, const TranslateOptions& how) const {
    return translator().translate({&line, 1}, how)[0].text;
  }
};

TEST_F(UnknownTextTest, AreCopiedAndTheRestIsTranslated) {
  TranslateOptions how = options();
  const std::string front = translate("Close the", how);
  const std::string back = translate("file.", how);
  EXPECT_EQ(translate("😀 Close the 𠮷 file 👩‍👩‍👧.", how),
            "😀 " + front + " 𠮷 " + back + " 👩‍👩‍👧");
  how.unknown = Unknown::copy;
  EXPECT_THAT(translate("😀 Close the 𠮷 file 👩‍👩‍👧.", how), StartsWith("😀 "));
  how.unknown = Unknown::keep;
  const std::string kept = translate("😀 Close the file.", how);
  how.protect = false;
  EXPECT_EQ(translate("😀 Close the file.", how), kept) << "left to the model";
}

TEST_F(UnknownTextTest, AGlossaryOrABanComesFirst) {
  TranslateOptions how = options();
  how.glossary = {{"😀", {"文件"}}};
  EXPECT_THAT(translate("😀 Close the file.", how), HasSubstr("文件"));
  how.glossary.clear();
  how.banned = {"😀"};
  EXPECT_THAT(translate("😀 Close the file.", how), testing::Not(HasSubstr("😀")));
}

TEST_F(UnknownTextTest, NumbersStayWhereTheModelLosesThem) {
  TranslateOptions how = options();
  const std::string line = "Close 18.10 or 3.14% of 1,000.";
  const std::string found = translate(line, how);
  for (const char* number : {"18.10", "3.14%", "1,000"}) EXPECT_THAT(found, HasSubstr(number));
  how.protect = false;
  EXPECT_FALSE(lost_numbers(line, translate(line, how)).digits.empty()) << "this model should know none of them";
}

}  // namespace
}  // namespace zhuyi::infer
