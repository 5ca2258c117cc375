// What may be asked of a translation of text: kept to the letter whatever the model, here one with random weights.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "infer/alignment.h"
#include "infer/attention_picture.h"
#include "infer/line_parts.h"
#include "infer/protected_text.h"
#include "infer/shared_translator.h"
#include "infer/translator.h"
#include "text/utf8.h"

namespace zhuyi::infer {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TranslateOptionsTest : public SharedTranslator {
 protected:
  // Without the pieces that spell bytes, of which this model makes nonsense.
  TranslateOptions options_for_text() const {
    TranslateOptions result = options();
    const text::Tokenizer& tokenizer = translator().model().target;
    for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
      if (tokenizer.piece(id).starts_with("<0x")) result.search.suppressed.push_back(id);
    }
    return result;
  }
  Translation translate(const std::string& line, const TranslateOptions& how, const LineOptions& own = {}) const {
    return translator().translate({&line, 1}, how, {&own, 1})[0];
  }
};

TEST_F(TranslateOptionsTest, APrefixIsKeptToTheLetter) {
  TranslateOptions how = options();
  how.search.n_best = 3;
  for (const std::string prefix :
       {"The", "The f", "文件", "  two spaces", "trailing ", "é 😀 𠮷", "%s <b>", "Save all files now!"}) {
    const Translation found = translate("Close the file. Save it.", how, {.prefix = prefix, .phrases = {}});
    EXPECT_EQ(found.parts, 1) << "a line with a prefix is not split";
    EXPECT_FALSE(found.alternatives.empty());
    for (const Alternative& alternative : found.alternatives) EXPECT_THAT(alternative.text, StartsWith(prefix));
  }
  EXPECT_EQ(translate("", how, {.prefix = "The", .phrases = {}}).text, "");
}

// A prefix that begins what would be found anyway changes nothing.
TEST_F(TranslateOptionsTest, APrefixThatWouldBeFoundAnywayChangesNothing) {
  TranslateOptions how = options();
  const text::Tokenizer& tokenizer = translator().model().target;
  // Pieces that begin a word alone, so that most texts are spelt as the tokenizer would.
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string& piece = tokenizer.piece(id);
    const bool begins = piece.starts_with("\u2581") && piece != "\u2581";
    if (!begins && id != how.search.eos) how.search.suppressed.push_back(id);
  }
  how.search.min_length = 6;
  int compared = 0;
  for (const std::string& line : training_lines()) {
    const Translation free = translate(line, how);
    ASSERT_GE(free.alternatives.at(0).tokens.size(), 6u);
    const Alternative& best = free.alternatives[0];
    const std::vector<std::int32_t> first(best.tokens.begin(), best.tokens.begin() + 3);
    const std::string half = tokenizer.decode(first);
    if (tokenizer.encode(half) != first) continue;  // these pieces are not how the tokenizer spells their text
    ++compared;
    const Alternative with = translate(line, how, {.prefix = half, .phrases = {}}).alternatives.at(0);
    EXPECT_EQ(with.tokens, best.tokens) << line;
    EXPECT_EQ(with.log_probability, best.log_probability) << line;
  }
  EXPECT_GE(compared, 3);
}

TEST_F(TranslateOptionsTest, PhrasesOccurAndBannedTextsDoNot) {
  TranslateOptions how = options();
  how.search.max_length_extra = 40;
  const Translation found = translate("Close the window.", how, {.prefix = {}, .phrases = {{"文件"}, {"页", "open"}}});
  EXPECT_THAT(found.text, HasSubstr("文件"));
  EXPECT_TRUE(found.text.find("页") != std::string::npos || found.text.find("open") != std::string::npos) << found.text;

  // Characters that the model likes best, taken from it one by one.
  how = options_for_text();
  how.search.min_length = 3;
  for (int round = 0; round < 6; ++round) {
    const Translation next = translate("Close the window.", how);
    for (const std::string& text : how.banned) EXPECT_THAT(next.text, Not(HasSubstr(text)));
    ASSERT_FALSE(next.text.empty());
    std::size_t end = 1;
    while (end < next.text.size() && (static_cast<unsigned char>(next.text[end]) & 0xC0) == 0x80) ++end;
    how.banned.push_back(next.text.substr(0, end));
  }
  EXPECT_THROW(translate("a", options(), {.prefix = {}, .phrases = {{" "}}}), base::Error);
  how.banned = {""};
  EXPECT_THROW(translate("a", how), base::Error);
}

TEST_F(TranslateOptionsTest, TheGlossaryAsksOnlyWhereItsWordStands) {
  TranslateOptions how = options();
  how.search.max_length_extra = 30;
  how.glossary = {{"window", {"窗口", "窗户"}}, {"file", {"文件"}}};
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string text = translate("Is the window open?", how).text;
  EXPECT_TRUE(has(text, "窗口") || has(text, "窗户")) << text;
  EXPECT_TRUE(has(translate("Close the file.", how).text, "文件"));
  TranslateOptions without = how;
  without.glossary.clear();
  EXPECT_EQ(translate("Save all profiles now!", how).text, translate("Save all profiles now!", without).text);
}

TEST_F(TranslateOptionsTest, PlaceholdersTagsAndAddressesStayThoughTheModelKnowsNone) {
  TranslateOptions how = options();
  const std::vector<std::string> lines = {
      "%1$s {0} https://a.b/c?d=e",
      "Open the file %s and save it as {0}.",
      "Write to me@example.com now!",
      "<b>Close</b> the <i>file</i>.",
      "%(name)s",
      "Save %d of %d files. Close {window}! <br/>",
      "See https://example.org/a/very/long/address?with=many&parts=1#and-an-end for the file.",
      "文件 %s 已打开",
  };
  const std::vector<Translation> found = translator().translate(lines, how);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(protected_texts(found[i].text), protected_texts(lines[i])) << lines[i] << " -> " << found[i].text;
  }
  EXPECT_EQ(found[4].text, "%(name)s") << "nothing is left for the model";
  how.protect = false;
  int lost = 0;
  const std::vector<Translation> bare = translator().translate(lines, how);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lost += protected_texts(bare[i].text) == protected_texts(lines[i]) ? 0 : 1;
  }
  EXPECT_GE(lost, 6) << "this model should know none of them";
}

TEST_F(TranslateOptionsTest, ProtectionTouchesNothingElse) {
  TranslateOptions how = options();
  TranslateOptions bare = how;
  bare.protect = false;
  for (const std::string& line : training_lines()) EXPECT_EQ(translate(line, how).text, translate(line, bare).text);
}

TEST_F(TranslateOptionsTest, WhatHoldsNoLetterStaysAsItIs) {
  TranslateOptions how = options();
  std::string dots;
  for (int i = 0; i < 100; ++i) dots += "…";
  for (const std::string& line : {std::string("3.14%"), std::string(200, '-'), dots, std::string("€18.10 😀")}) {
    const Translation found = translate(line, how);
    EXPECT_EQ(found.text, line);
    EXPECT_EQ(found.parts, 0);
  }
  const std::string first = translate("Close the file!", how).text;
  const std::string last = translate("Save it!", how).text;
  EXPECT_EQ(translate("Close the file! 42! Save it!", how).text, first + " 42! " + last);
  how.glossary = {{"42", {"文件"}}};
  EXPECT_THAT(translate("42", how).text, HasSubstr("文件"));
  how.glossary.clear();
  how.protect = false;
  EXPECT_NE(translate(dots, how).text, dots);
}

TEST_F(TranslateOptionsTest, SpacesBesideWhatStaysAsItIsAreThoseOfTheSource) {
  TranslateOptions how = options();
  how.max_source_tokens = 16;
  const std::string sentence = "Close the file and save it and open the window and close all the windows again.";
  const Translation alone = translate(sentence, how);
  ASSERT_TRUE(alone.cut);
  EXPECT_EQ(translate("42! " + sentence + " 43!", how).text, "42! " + alone.text + " 43!");
  // A sentence that is translated around its placeholder, which comes first.
  const formats::Model& model = translator().model();
  const Line line = read_line(model, "Close the file.  %s is open.", how, {});
  ASSERT_EQ(line.parts.size(), 2u);
  const std::vector<Part> around = around_protected(model, line.parts[1], how);
  EXPECT_EQ(around.at(0).line.text, "%s");
  EXPECT_TRUE(around.at(0).line.spaced);
}

TEST_F(TranslateOptionsTest, WhatIsRepeatedIsTranslatedOnce) {
  TranslateOptions how = options_for_text();
  const std::string once = translate("open", how).text;
  ASSERT_FALSE(once.empty());
  std::string source = "open";
  for (int i = 1; i < 40; ++i) source += " open";
  // Forty times, with spaces between unless Han or Kana touch there.
  const auto forty = [](const std::string& text) {
    const std::vector<char32_t> characters = text::decode_utf8(text);
    const auto is_wide = [](char32_t c) { return (c >= 0x2E80 && c < 0xA000) || (c >= 0xFF00 && c < 0xFFF0); };
    const bool wide = is_wide(characters.front()) || is_wide(characters.back());
    std::string result = text;
    for (int i = 1; i < 40; ++i) result += (wide ? "" : " ") + text;
    return result;
  };
  const Translation found = translate(source, how);
  EXPECT_EQ(found.text, forty(once));
  EXPECT_EQ(found.parts, 1);
  EXPECT_EQ(translate(std::string(300, 'a'), how).text, std::string(300, 'a'));
  how.glossary = {{"open", {"文件"}}};
  const std::string with = translate("open", how).text;
  EXPECT_THAT(with, HasSubstr("文件"));
  EXPECT_EQ(translate(source, how).text, forty(with));
  how.glossary.clear();
  how.protect = false;
  EXPECT_GT(translate(source, how).source_tokens, 40) << "the model reads all of it";
}

TEST_F(TranslateOptionsTest, SentencesAreTranslatedOneByOneOrNot) {
  TranslateOptions how = options();
  how.protect = false;
  const Translation both = translate("Close the file.  Save it!", how);
  EXPECT_EQ(both.parts, 2);
  EXPECT_FALSE(both.cut);
  const Alternative first = translate("Close the file.", how).alternatives.at(0);
  const Alternative second = translate("Save it!", how).alternatives.at(0);
  EXPECT_THAT(both.text, StartsWith(first.text));
  EXPECT_THAT(both.text, ::testing::EndsWith(second.text));
  EXPECT_DOUBLE_EQ(both.alternatives[0].log_probability, first.log_probability + second.log_probability);
  how.split = false;
  const Translation whole = translate("Close the file.  Save it!", how);
  EXPECT_EQ(whole.parts, 1);
  EXPECT_NE(whole.alternatives[0].log_probability, both.alternatives[0].log_probability);
  std::string line;
  for (int i = 0; i < 200; ++i) line += "file ";
  EXPECT_EQ(translate(line, how).parts, 1) << "kept whole though longer than max_source_tokens";
}

TEST_F(TranslateOptionsTest, WordsCarryTheirShareOfTheScore) {
  TranslateOptions how = options_for_text();
  for (const std::string& line : training_lines()) {
    const Alternative found = translate(line, how).alternatives.at(0);
    double sum = found.end_log_probability;
    std::string letters;
    for (const WordScore& word : found.words) {
      sum += word.log_probability;
      letters += word.text;
    }
    EXPECT_NEAR(sum, found.log_probability, 1e-9);
    std::string text = found.text;
    std::erase(text, ' ');
    std::erase(letters, ' ');
    EXPECT_EQ(letters, text);
  }
}

TEST_F(TranslateOptionsTest, AlignmentsAreTheAttentionOfTheLayerAndHead) {
  TranslateOptions how = options();
  how.alignment.on = true;
  const std::string line = "Close the file and save it.";
  const Translation found = translate(line, how);
  const Alternative& best = found.alternatives.at(0);
  ASSERT_EQ(std::ssize(best.alignment), std::ssize(best.tokens) + (best.finished ? 1 : 0));
  ASSERT_EQ(std::ssize(found.source_pieces), found.source_tokens);
  std::vector<std::int32_t> source = translator().model().source.encode(line);
  source.push_back(translator().model().source.eos());
  std::vector<std::int32_t> target = best.tokens;
  if (best.finished) target.push_back(translator().model().target.eos());
  const CrossAttention attention = cross_attention(translator().model(), source, target);
  const auto compare = [&](const std::vector<std::vector<float>>& rows, std::int64_t layer, std::int64_t head) {
    ASSERT_EQ(rows.size(), target.size());
    for (std::size_t t = 0; t < rows.size(); ++t) {
      float sum = 0;
      for (std::size_t s = 0; s < rows[t].size(); ++s) {
        const auto ti = static_cast<std::int64_t>(t);
        const auto si = static_cast<std::int64_t>(s);
        EXPECT_EQ(rows[t][s], head < 0 ? attention.mean(layer, ti, si) : attention.at(layer, head, ti, si));
        sum += rows[t][s];
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  };
  compare(best.alignment, 1, -1);
  how.alignment.layer = 0;
  how.alignment.head = 1;
  compare(translate(line, how).alternatives.at(0).alignment, 0, 1);
  how.alignment.head = 7;
  EXPECT_THROW(translate(line, how), base::Error);
}

TEST(HardAlignment, TakesTheLargest) {
  EXPECT_THAT(hard_alignment({{0.2F, 0.8F}, {0.5F, 0.5F}, {0.1F, 0.9F}}),
              ElementsAre(std::pair(0, 1), std::pair(1, 0), std::pair(1, 2)));
}

// The same line gives the same samples in any company, and other seeds give others.
TEST_F(TranslateOptionsTest, SamplesBelongToTheLineAndTheSeed) {
  TranslateOptions how = options();
  how.search.sampling = {.on = true, .temperature = 1, .top_k = 0, .top_p = 1, .seed = 5};
  how.search.n_best = 3;
  const std::vector<std::string> lines = training_lines();
  const std::vector<Translation> together = translator().translate(lines, how);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Translation alone = translate(lines[i], how);
    ASSERT_EQ(alone.alternatives.size(), 3u);
    for (std::size_t n = 0; n < 3; ++n) EXPECT_EQ(alone.alternatives[n].text, together[i].alternatives[n].text);
  }
  how.search.sampling.seed = 6;
  EXPECT_NE(translate(lines[0], how).text, together[0].text);
}

TEST_F(TranslateOptionsTest, SamplesHaveWhatIsAskedOfThem) {
  TranslateOptions how = options();
  how.search.max_length_extra = 40;
  how.search.sampling = {.on = true, .temperature = 1, .top_k = 0, .top_p = 1, .seed = 5};
  how.search.n_best = 5;
  how.glossary = {{"window", {"窗口", "窗户"}}};
  how.banned = {"e"};
  const Translation found = translate("Close the window.", how, {.prefix = {}, .phrases = {{"文件"}}});
  ASSERT_EQ(found.alternatives.size(), 5u);
  for (const Alternative& alternative : found.alternatives) {
    EXPECT_THAT(alternative.text, HasSubstr("文件"));
    EXPECT_THAT(alternative.text, AnyOf(HasSubstr("窗口"), HasSubstr("窗户")));
    EXPECT_THAT(alternative.text, Not(HasSubstr("e")));
  }
  how = options();
  how.search.sampling.on = true;
  for (const std::string line : {"Open %s.", "<b>Close</b> the <i>file</i>.", "Write to me@example.com now!"}) {
    EXPECT_EQ(protected_texts(translate(line, how).text), protected_texts(line)) << line;
  }
}

TEST_F(TranslateOptionsTest, NothingDependsOnBatchOrThreads) {
  TranslateOptions how = options();
  how.search.n_best = 3;
  how.search.coverage_penalty = 0.2;
  how.search.no_repeat_ngram = 3;
  how.alignment.on = true;
  how.banned = {"x"};
  how.glossary = {{"file", {"文件"}}};
  std::vector<std::string> lines = training_lines();
  for (const char* line : {"Open %s. Close {0}!", "", "Save <b>it</b>."}) lines.emplace_back(line);
  std::vector<LineOptions> own(lines.size());
  own[1].prefix = "请";
  own[2].phrases = {{"现在"}};
  const int threads = base::threads();
  std::vector<Translation> expected;
  for (std::size_t i = 0; i < lines.size(); ++i) expected.push_back(translate(lines[i], how, own[i]));
  for (const int count : {1, 2, 8}) {
    base::set_threads(count);
    for (const std::int64_t batch : {1, 2, 7, 64, 2000}) {
      how.batches.sentences = batch;
      const std::vector<Translation> found = translator().translate(lines, how, own);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        ASSERT_EQ(found[i].alternatives.size(), expected[i].alternatives.size());
        for (std::size_t n = 0; n < found[i].alternatives.size(); ++n) {
          const Alternative& a = found[i].alternatives[n];
          const Alternative& b = expected[i].alternatives[n];
          ASSERT_EQ(a.text, b.text) << lines[i];
          ASSERT_EQ(a.score, b.score) << lines[i];
          ASSERT_EQ(a.alignment, b.alignment) << lines[i];
        }
      }
    }
  }
  base::set_threads(threads);
}

}  // namespace
}  // namespace zhuyi::infer
