#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "text/normalize.h"

namespace zhuyi::text {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string>& small_text() {
  static const std::vector<std::string> lines = {
      "the cat sat on the mat",   "the dog reads 12 books",     "a cat and a dog", "<br> is a tag, <s> is not one",
      "猫坐在垫子上，狗在读书。", "狗读了 12 本书（很厚）：好", "一只猫和一只狗",  "猫和狗都在读书",
  };
  return lines;
}

std::string train_small(TokenizerTraining options) {
  options.size = options.size == 8000 ? 400 : options.size;
  options.size_is_limit = true;
  return train_tokenizer(small_text(), options);
}

// Texts of every kind that a line can hold.
std::vector<std::string> hard_texts() {
  return {"",
          " ",
          "   ",
          "the cat",
          "  leading and trailing  ",
          "double  triple   spaces",
          "\u3000全角空格\u3000\u3000",
          "no\u00a0break\u00a0",
          "\ttab\tand\x01\x1f\x7f\u0085 controls\r",
          "one\nline\0nul"s,
          "separators \u2028\u2029 \ufeff\u200b",
          "👩‍👧‍👦 👍🏽 🇨🇳",
          "𠮷野家 U+20BB7",
          "，。；：（）「」！？…—",
          "e\u0301 q\u0323\u0307 \u212b",
          "\u2581",
          "\u2581\u2581 a\u2581b \u2581 c \u2581",
          " \u2581\U0010fffd\u2581",
          "\u2585 \u2047 \ufffd",
          "<s>",
          "</s> <unk> <pad> <0x41> <0xE2><0x96><0x81>",
          "<s>猫</s>",
          "€18.10 3.14% 1,000 -0 ٣",
          "supercalifragilistic Ωμέγα ไทย हिन्दी",
          "\U0010fffd\U000f0000\ufdd0"};
}

class ExactRoundTrip : public testing::TestWithParam<TokenizerType> {};

TEST_P(ExactRoundTrip, KeepsEveryText) {
  const Tokenizer tokenizer(train_small({.type = GetParam(), .user_defined = {"<br>", "a,\"b"}}));
  for (const std::string& text : hard_texts()) {
    const std::vector<std::int32_t> ids = tokenizer.encode(text);
    EXPECT_EQ(tokenizer.decode(ids), nfc(text));
    EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer.unk()), 0) << text;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer.bos()), 0) << text;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer.eos()), 0) << text;
    const std::vector<std::string> pieces = tokenizer.encode_pieces(text);
    EXPECT_EQ(tokenizer.decode_pieces(pieces), nfc(text));
    for (const std::string& piece : pieces) EXPECT_EQ(piece.find_first_of(" \t\r\n"), std::string::npos) << text;
  }
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xff\xe4\xb8z")), "a\ufffd\ufffdz");
}

INSTANTIATE_TEST_SUITE_P(Types, ExactRoundTrip, testing::Values(TokenizerType::unigram, TokenizerType::bpe));

TEST(Tokenizer, HasTheIdsOfTheConvention) {
  const Tokenizer tokenizer(train_small({.user_defined = {"<br>"}}));
  EXPECT_EQ(tokenizer.unk(), 0);
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), 2);
  EXPECT_EQ(tokenizer.pad(), -1);
  EXPECT_EQ(tokenizer.piece(1), "<s>");
  EXPECT_EQ(tokenizer.id("</s>"), 2);
  EXPECT_EQ(tokenizer.id("no such piece"), -1);
  EXPECT_LE(tokenizer.size(), 400);
  EXPECT_THAT(tokenizer.encode(""), ElementsAre());
  EXPECT_EQ(tokenizer.decode(std::vector<std::int32_t>{1, 2}), "");
  EXPECT_THAT(tokenizer.encode_pieces("x<br>x"), testing::Contains("<br>"));
}

TEST(Tokenizer, WritesUnknownCharactersAsBytes) {
  const Tokenizer tokenizer(train_small({}));
  EXPECT_THAT(tokenizer.encode_pieces("€"), ElementsAre("▁", "<0xE2>", "<0x82>", "<0xAC>"));
  EXPECT_THAT(tokenizer.encode_pieces("1207"), ElementsAre("▁", "1", "2", "<0x30>", "<0x37>"));
  const std::vector<std::int32_t> half = {tokenizer.id("<0xE2>"), tokenizer.id("<0x82>")};
  EXPECT_EQ(tokenizer.decode(half), "\ufffd");
}

TEST(Tokenizer, WithoutByteFallbackLosesUnknownCharactersOnly) {
  const Tokenizer tokenizer(train_small({.byte_fallback = false}));
  EXPECT_FALSE(tokenizer.byte_fallback());
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("the  cat，猫 ")), "the  cat，猫 ");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a€a")), "a \u2047 a");
  EXPECT_EQ(tokenizer.decode_pieces(tokenizer.encode_pieces("a€a")), "a€a");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\u2581a")), "a a");
}

TEST(Tokenizer, DigitsAreSplitOnRequest) {
  TokenizerTraining joined{.type = TokenizerType::bpe, .split_digits = false};
  std::vector<std::string> text(50, "year 1984 and 1984");
  joined.size_is_limit = true;
  EXPECT_THAT(Tokenizer(train_tokenizer(text, joined)).encode_pieces("year 1984"), testing::SizeIs(testing::Le(2)));
  joined.split_digits = true;
  EXPECT_THAT(Tokenizer(train_tokenizer(text, joined)).encode_pieces("1984"), ElementsAre("▁", "1", "9", "8", "4"));
}

TEST(Tokenizer, RefusesIdsOutside) {
  const Tokenizer tokenizer(train_small({}));
  const auto past_the_end = static_cast<std::int32_t>(tokenizer.size());
  EXPECT_THROW(tokenizer.decode(std::vector<std::int32_t>{past_the_end}), base::Error);
  EXPECT_THROW(tokenizer.decode(std::vector<std::int32_t>{-1}), base::Error);
  EXPECT_THROW(tokenizer.piece(past_the_end), base::Error);
}

TEST(Tokenizer, IsTheSameInSeveralThreads) {
  const Tokenizer tokenizer(train_small({}));
  const std::vector<std::int32_t> expected = tokenizer.encode("the cat 猫在读书");
  std::vector<int> right(4, 0);
  std::vector<std::thread> threads;
  for (int& count : right) {
    threads.emplace_back([&tokenizer, &expected, &count] {
      for (int i = 0; i < 100; ++i) count += tokenizer.encode("the cat 猫在读书") == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, ElementsAre(100, 100, 100, 100));
}

// Ids from Python's sentencepiece 0.2.3 for the committed models (golden/tokenizer/make.py prints them).
TEST(Tokenizer, GivesTheIdsOfPythonsSentencePiece) {
  const Tokenizer ours = Tokenizer::load(ZHUYI_GOLDEN_DIR "/tokenizer/ours.model");
  EXPECT_EQ(ours.size(), 317);
  EXPECT_THAT(ours.encode("the model reads (全角) 文字，原样"),
              ElementsAre(259, 261, 267, 260, 259, 315, 263, 266, 260, 268, 279, 259, 43, 288, 293, 44, 259, 277, 295,
                          289, 311));
  EXPECT_THAT(ours.encode(" two  spaces "),
              ElementsAre(259, 259, 261, 316, 263, 259, 259, 265, 273, 281, 306, 260, 265, 259));
  EXPECT_THAT(ours.encode("word 20 <s> €"), ElementsAre(276, 259, 53, 51, 259, 63, 265, 65, 259, 229, 133, 175));
}

// A model as Marian's trainer makes them: other special ids, BPE, no byte fallback, normalisation rules of its own.
TEST(Tokenizer, FollowsModelsOfOtherConventions) {
  const Tokenizer marian = Tokenizer::load(ZHUYI_GOLDEN_DIR "/tokenizer/marian.model");
  EXPECT_EQ(marian.bos(), -1);
  EXPECT_EQ(marian.eos(), 0);
  EXPECT_EQ(marian.unk(), 1);
  const std::vector<std::int32_t> ids = {9, 51, 50, 23, 69, 1, 43, 1, 54, 92, 44};
  EXPECT_EQ(marian.encode("the model reads (全角) 文字，原样"), ids);
  EXPECT_EQ(marian.decode(ids), "the model reads  \u2047 全角 \u2047  文字,原样");
  EXPECT_EQ(marian.decode(marian.encode(" two  spaces ")), "two spaces");
  EXPECT_EQ(marian.decode(marian.encode("Ａ ﬁ")), " \u2047   \u2047 i");
}

}  // namespace
}  // namespace zhuyi::text
