// Characters that a vocabulary lacks, and how sentences are cut around them.

#include "infer/unknown_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

// A tokenizer that spells nothing in bytes: what it lacks is unknown.
formats::Model model_without_bytes() {
  text::TokenizerTraining training;
  training.size = 80;
  training.size_is_limit = true;
  training.byte_fallback = false;
  training.threads = 1;
  const text::Tokenizer tokenizer(text::train_tokenizer(training_lines(), training));
  nn::Config config;
  config.source_vocabulary = config.target_vocabulary = tokenizer.size();
  config.d_model = 16;
  config.d_ff = 16;
  config.heads = 2;
  config.encoder_layers = config.decoder_layers = 1;
  return {std::make_unique<nn::Transformer>(config, tokenizer.bos(), 3), tokenizer, tokenizer, {}};
}

TEST(Unknown, ForbiddenKeptOrCopied) {
  const Translator translator(model_without_bytes());
  TranslateOptions how = translator.defaults();
  how.search.max_length_extra = 3;
  how.protect = false;
  const std::int32_t unk = translator.model().target.unk();
  const auto unknowns = [&](const Translation& found) {
    const std::vector<std::int32_t>& tokens = found.alternatives.at(0).tokens;
    return std::count(tokens.begin(), tokens.end(), unk);
  };
  const std::string line = "Close Ångström Þorn";
  EXPECT_EQ(unknowns(translator.translate({&line, 1}, how)[0]), 0);
  // All other tokens are taken away, so that the model must say that it does not know.
  for (std::int32_t id = 0; id < translator.model().target.size(); ++id) {
    if (id != unk && id != how.search.eos) how.search.suppressed.push_back(id);
  }
  how.search.min_length = 3;
  how.unknown = Unknown::keep;
  const Translation kept = translator.translate({&line, 1}, how)[0];
  EXPECT_GE(unknowns(kept), 3);
  EXPECT_THAT(kept.text, HasSubstr("\u2047"));
  how.unknown = Unknown::copy;
  how.alignment.on = true;
  const Translation copied = translator.translate({&line, 1}, how)[0];
  // Each unknown stands for the word of the source that it looks at most.
  const Alternative& best = copied.alternatives[0];
  std::vector<std::string> words;
  for (std::size_t t = 0; t < best.tokens.size(); ++t) {
    ASSERT_EQ(best.tokens[t], unk);
    const std::vector<float>& row = best.alignment[t];
    auto index = static_cast<std::size_t>(std::max_element(row.begin(), row.end() - 1) - row.begin());
    std::size_t word = 0;
    for (std::size_t i = 1; i <= index; ++i) word += copied.source_pieces[i].starts_with("\u2581") ? 1 : 0;
    const std::string text = std::vector<std::string>{"Close", "Ångström", "Þorn"}.at(word);
    if (words.empty() || words.back() != text) words.push_back(text);
  }
  std::string expected;
  for (const std::string& word : words) expected += word;
  EXPECT_EQ(copied.text, expected);
}

}  // namespace
}  // namespace zhuyi::infer
