// Lines in, lines out: what must hold whatever the lines are, on a tiny model with random weights.

#include "infer/translator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/parallel.h"
#include "infer/shared_translator.h"
#include "text/normalize.h"
#include "text/utf8.h"

namespace zhuyi::infer {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class TranslatorTest : public SharedTranslator {};

// Lines that make trouble: R1 to R5, R12 and R13 of the list of behaviours.
std::vector<std::string> awkward_lines() {
  using namespace std::string_literals;
  return {"The file is open.",
          "",
          "   ",
          "\t",
          "\u3000",
          "\u00A0",
          "\u200B",
          "\uFEFF",
          "nul \0 inside"s,
          "\0"s,
          "bad \xFF byte",
          "cut off \xE4\xB8",
          "lone \r return",
          "line\u2028separator",
          "\uFEFFThe mark of byte order",
          "👩‍👩‍👧‍👦 family 𠮷野家",
          "€18.10, 3.14%, 1,000",
          "e\u0301 and é",
          "<s> </s> <unk> <0x0A>",
          "\x1B[31mred\x07"};
}

TEST_F(TranslatorTest, EveryLineGivesOneLine) {
  const std::vector<std::string> lines = awkward_lines();
  const std::vector<Translation> found = translator().translate(lines, options());
  ASSERT_EQ(found.size(), lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_TRUE(text::valid_utf8(found[i].text)) << i;
    for (const char control : {'\n', '\r', '\0', '\t', '\x1B', '\x7F'}) {
      EXPECT_EQ(found[i].text.find(control), std::string::npos) << i;
    }
  }
}

TEST_F(TranslatorTest, BlankForBlankWithoutTheModel) {
  for (const std::string line : {"", " ", "\t", "\u3000", "\u00A0", "\u200B", "\uFEFF", " \r"}) {
    const Translation found = translator().translate({&line, 1}, options())[0];
    EXPECT_EQ(found.text, "");
    EXPECT_EQ(found.score, 0);
    EXPECT_EQ(found.parts, 0);
    EXPECT_TRUE(found.alternatives.empty());
  }
}

TEST_F(TranslatorTest, BadBytesCountAsReplacementCharacters) {
  const std::vector<std::string> lines = {"bad \xFF byte", "bad \uFFFD byte", "cut \xE4\xB8", "cut \uFFFD"};
  const std::vector<Translation> found = translator().translate(lines, options());
  EXPECT_EQ(found[0].text, found[1].text);
  EXPECT_EQ(found[2].text, found[3].text);
}

TEST_F(TranslatorTest, NeighboursBatchesOrderAndThreadsChangeNothing) {
  std::vector<std::string> lines = awkward_lines();
  for (const std::string& line : training_lines()) lines.push_back(line);
  std::vector<Translation> alone;
  for (const std::string& line : lines) alone.push_back(translator().translate({&line, 1}, options())[0]);
  const int threads = base::threads();
  for (const int count : {1, 2}) {
    base::set_threads(count);
    for (const std::int64_t batch : {1, 2, 7, 64}) {
      TranslateOptions how = options();
      how.batches.sentences = batch;
      std::vector<std::size_t> order(lines.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      base::Random(static_cast<std::uint64_t>(batch)).shuffle(std::span(order));
      std::vector<std::string> shuffled;
      for (const std::size_t i : order) shuffled.push_back(lines[i]);
      const std::vector<Translation> found = translator().translate(shuffled, how);
      for (std::size_t i = 0; i < order.size(); ++i) {
        ASSERT_EQ(found[i].text, alone[order[i]].text) << shuffled[i];
        ASSERT_EQ(found[i].score, alone[order[i]].score) << shuffled[i];
      }
    }
  }
  base::set_threads(threads);
}

TEST_F(TranslatorTest, SpecialAndControlPiecesAreNeverProduced) {
  const text::Tokenizer& tokenizer = translator().model().target;
  const std::vector<std::int32_t> suppressed = options().search.suppressed;
  for (const char* piece : {"<unk>", "<s>", "<0x00>", "<0x09>", "<0x0A>", "<0x0D>", "<0x1F>", "<0x7F>"}) {
    EXPECT_THAT(suppressed, Contains(tokenizer.id(piece))) << piece;
  }
  for (const char* piece : {"</s>", "<0x20>", "<0x41>", "<0xE4>"}) {
    EXPECT_THAT(suppressed, Not(Contains(tokenizer.id(piece)))) << piece;
  }
  // Forced to be long, the model would name each of them somewhere if it could.
  TranslateOptions how = options();
  how.search.min_length = 60;
  how.search.max_length_extra = 80;
  for (const Translation& found : translator().translate(training_lines(), how)) {
    for (const std::int32_t token : found.alternatives.at(0).tokens) EXPECT_THAT(suppressed, Not(Contains(token)));
  }
}

TEST_F(TranslatorTest, AlternativesAreOrderedAndTheFirstIsTheTranslation) {
  TranslateOptions how = options();
  how.search.n_best = how.search.beam_size = 5;
  // So few pieces that translations end, which this model seldom lets them.
  for (std::int32_t id = 40; id < translator().model().target.size(); ++id) how.search.suppressed.push_back(id);
  const std::vector<Translation> best = translator().translate(training_lines(), how);
  int compared = 0;
  for (const Translation& found : best) {
    ASSERT_EQ(found.alternatives.size(), 5u);
    EXPECT_EQ(found.text, found.alternatives[0].text);
    EXPECT_EQ(found.score, found.alternatives[0].score);
    for (std::size_t i = 1; i < 5; ++i) {
      const Alternative& a = found.alternatives[i - 1];
      const Alternative& b = found.alternatives[i];
      EXPECT_NE(a.tokens, b.tokens);
      EXPECT_GE(a.finished, b.finished);
      if (a.finished != b.finished) continue;
      EXPECT_GE(a.score, b.score);
      compared += a.finished ? 1 : 0;
    }
  }
  EXPECT_GE(compared, 20);
}

TEST_F(TranslatorTest, ABeamOfOneIsGreedySearch) {
  TranslateOptions how = options();
  how.search.beam_size = 1;
  how.search.max_repeats = 0;
  const nn::Transformer& transformer = *translator().model().transformer;
  const std::vector<std::uint8_t> forbidden = [&] {
    std::vector<std::uint8_t> flags(static_cast<std::size_t>(translator().model().target.size()));
    for (const std::int32_t id : how.search.suppressed) flags[static_cast<std::size_t>(id)] = 1;
    return flags;
  }();
  for (const std::string& line : training_lines()) {
    nn::Tokens source;
    std::vector<std::int32_t> ids = translator().model().source.encode(line);
    ids.push_back(translator().model().source.eos());
    source.append(ids);
    autograd::Run run;
    nn::DecoderState state = transformer.start(transformer.encode(source, run));
    std::vector<std::int32_t> expected;
    std::int32_t token = transformer.bos();
    for (std::int64_t step = 0; step < std::ssize(ids) + how.search.max_length_extra; ++step) {
      const nn::Continuation continuation{0, step == 0 ? -1 : 0};
      const tensor::Tensor logits = transformer.logits(transformer.step({&token, 1}, {&continuation, 1}, state));
      std::span<const float> row = logits.data<float>();
      std::size_t best = row.size();
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (forbidden[i] == 0 && (best == row.size() || row[i] > row[best])) best = i;
      }
      token = static_cast<std::int32_t>(best);
      if (token == how.search.eos) break;
      expected.push_back(token);
    }
    EXPECT_EQ(translator().translate({&line, 1}, how)[0].alternatives.at(0).tokens, expected) << line;
  }
}

TEST_F(TranslatorTest, LongLinesAreTranslatedInPartsAndJoined) {
  TranslateOptions how = options();
  how.max_source_tokens = 20;
  const text::Tokenizer& tokenizer = translator().model().source;
  // One sentence, too long as a whole; the comma is the pause nearest to its middle.
  const std::vector<std::string> parts = {"Close the file and save it,", "open the window and close it."};
  const std::string line = parts[0] + " " + parts[1];
  ASSERT_GT(tokenizer.encode(line).size(), 20u);
  const Translation whole = translator().translate({&line, 1}, how)[0];
  EXPECT_EQ(whole.parts, 2);
  EXPECT_TRUE(whole.cut);
  // Every part fits and is translated as if it stood alone: the sums are those of the parts.
  double sum = 0;
  std::vector<std::int32_t> tokens;
  for (const std::string& part : parts) {
    ASSERT_LE(tokenizer.encode(part).size(), 20u) << part;
    const Translation alone = translator().translate({&part, 1}, how)[0];
    ASSERT_EQ(alone.parts, 1);
    EXPECT_FALSE(alone.cut);
    const bool first = tokens.empty();
    EXPECT_TRUE(first ? whole.text.starts_with(alone.text) : whole.text.ends_with(alone.text)) << whole.text;
    const Alternative& best = alone.alternatives.at(0);
    sum += best.log_probability;
    tokens.insert(tokens.end(), best.tokens.begin(), best.tokens.end());
  }
  EXPECT_DOUBLE_EQ(whole.alternatives.at(0).log_probability, sum);
  EXPECT_EQ(whole.alternatives.at(0).tokens, tokens);
}

TEST_F(TranslatorTest, VeryLongLinesOfAnyKindEnd) {
  TranslateOptions how = options();
  how.search.beam_size = 1;
  how.search.max_length_extra = 0;
  how.protect = false;  // which would keep two of them
  std::vector<std::string> lines(4);
  for (int i = 0; i < 700; ++i) {
    lines[0] += ". ";
    lines[1] += "字";
    lines[2] += "\u0301";
    lines[3] += "x";
  }
  for (const Translation& found : translator().translate(lines, how)) EXPECT_GT(found.parts, 1);
}

TEST_F(TranslatorTest, ScoresAreThoseOfThePiecesWhateverStandsBeside) {
  const std::vector<std::string> sources = training_lines();
  std::vector<std::string> targets = sources;
  std::reverse(targets.begin(), targets.end());
  const std::vector<ScoredPair> scored = translator().score(sources, targets, {.sentences = 5});
  ASSERT_EQ(scored.size(), sources.size());
  const text::Tokenizer& tokenizer = translator().model().target;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(scored[i], translator().score({&sources[i], 1}, {&targets[i], 1})[0]);
    EXPECT_EQ(scored[i].token_log_probabilities.size(), tokenizer.encode(targets[i]).size() + 1);
    double sum = 0;
    for (const float token : scored[i].token_log_probabilities) {
      EXPECT_LT(token, 0);
      sum += static_cast<double>(token);
    }
    EXPECT_DOUBLE_EQ(sum, scored[i].log_probability);
  }
}

TEST_F(TranslatorTest, ScoreNamesThePairThatIsTooLong) {
  std::string line;
  for (int i = 0; i < 5000; ++i) line += "字";
  const std::vector<std::string> sources = {"a", line};
  const std::vector<std::string> targets = {"a", "a"};
  try {
    translator().score(sources, targets, {}, 41);
    FAIL() << "expected an error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_file);
    EXPECT_THAT(error.message(), HasSubstr("line 42: the source has"));
  }
}

TEST_F(TranslatorTest, RefusesOptionsOutOfRange) {
  TranslateOptions how = options();
  how.search.n_best = 5;
  EXPECT_THROW(translator().translate({}, how), base::Error);
  how = options();
  how.max_source_tokens = 3;
  EXPECT_THROW(translator().translate({}, how), base::Error);
}

TEST(Translator, LearnedPositionsLimitSourceAndTarget) {
  const Translator translator(small_model(24));
  TranslateOptions how = translator.defaults();
  EXPECT_EQ(how.search.max_length, 24);
  std::string line;
  for (int i = 0; i < 60; ++i) line += fmt::format("file {} ", i);
  const Translation found = translator.translate({&line, 1}, how)[0];
  EXPECT_GT(found.parts, 1);
  EXPECT_THROW(translator.score({&line, 1}, {&line, 1}), base::Error);
}

}  // namespace
}  // namespace zhuyi::infer
