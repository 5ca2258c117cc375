#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "text/normalize.h"
#include "text/tokenizer.h"

namespace zhuyi::text {
namespace {

using testing::HasSubstr;

// Made-up words in a fixed order, of both scripts.
std::vector<std::string> made_up_text(int lines) {
  std::vector<std::string> text;
  for (int i = 0; i < lines; ++i) {
    std::string line;
    for (int word = 0; word < 6; ++word) {
      const int n = i * 7 + word * word * 3;
      for (int letter = 0; letter < 3 + n % 4; ++letter) line += static_cast<char>('a' + (n * (letter + 3)) % 17);
      line += n % 3 == 0 ? "\u732b\u72d7" : " ";
    }
    text.push_back(line);
  }
  return text;
}

std::string message_of(const std::vector<std::string>& text, const TokenizerTraining& options) {
  try {
    train_tokenizer(text, options);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::invalid_argument);
    return error.message();
  }
  return "";
}

TEST(TokenizerTraining, GivesTheSameBytesEveryTime) {
  const std::vector<std::string> text = made_up_text(300);
  for (const TokenizerType type : {TokenizerType::unigram, TokenizerType::bpe}) {
    const TokenizerTraining options{.type = type, .size = 400, .max_sentences = 200};
    const std::string first = train_tokenizer(text, options);
    EXPECT_EQ(train_tokenizer(text, options), first);
    EXPECT_EQ(Tokenizer(first).size(), 400);
  }
}

TEST(TokenizerTraining, StatesTheLargestSize) {
  const std::vector<std::string> text = made_up_text(60);
  for (const TokenizerType type : {TokenizerType::unigram, TokenizerType::bpe}) {
    const std::string message = message_of(text, {.type = type, .size = 5000});
    ASSERT_THAT(message, HasSubstr("at most "));
    const std::int64_t largest = std::stoll(message.substr(message.find("at most ") + 8));
    EXPECT_EQ(Tokenizer(train_tokenizer(text, {.type = type, .size = largest})).size(), largest);
    EXPECT_EQ(Tokenizer(train_tokenizer(text, {.type = type, .size = 5000, .size_is_limit = true})).size(), largest);
  }
}

TEST(TokenizerTraining, StatesTheSmallestSize) {
  const std::string message = message_of(made_up_text(60), {.size = 260});
  EXPECT_THAT(message, HasSubstr("too few"));
}

TEST(TokenizerTraining, ASpaceIsAlwaysAPiece) {
  std::u32string line;  // one space, put there by the model itself, among thousands of other characters
  for (char32_t character = 0x4e00; character < 0x4e00 + 3000; ++character) line.append(2, character);
  const TokenizerTraining options{.size = 4000, .size_is_limit = true, .character_coverage = 0.98};
  const Tokenizer tokenizer(train_tokenizer(std::vector<std::string>{encode_utf8(line)}, options));
  EXPECT_GE(tokenizer.id("\u2581"), 0);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("\u4e00 \u4e01 ")), "\u4e00 \u4e01 ");
}

TEST(TokenizerTraining, UserDefinedPiecesAreNeverSplit) {
  const std::vector<std::string> pieces = {"<br>", "%1$s", "a,b", "\"q\"", "〔注〕"};
  const TokenizerTraining options{.size = 500, .size_is_limit = true, .user_defined = pieces};
  const Tokenizer tokenizer(train_tokenizer(made_up_text(100), options));
  for (const std::string& piece : pieces) {
    EXPECT_GE(tokenizer.id(piece), 0) << piece;
    EXPECT_THAT(tokenizer.encode_pieces("猫" + piece + "a"), testing::Contains(piece));
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(piece + " " + piece)), piece + " " + piece);
  }
}

TEST(TokenizerTraining, RefusesWhatCannotBe) {
  const std::vector<std::string> text = made_up_text(20);
  EXPECT_THAT(message_of({}, {}), HasSubstr("no text"));
  EXPECT_THAT(message_of({"", "  ", "\u3000"}, {}), HasSubstr("no text"));
  EXPECT_THAT(message_of(text, {.size = 0}), HasSubstr("a vocabulary of 0"));
  EXPECT_THAT(message_of(text, {.character_coverage = 0}), HasSubstr("coverage"));
  EXPECT_THAT(message_of(text, {.threads = 0}), HasSubstr("threads"));
  for (const std::string piece : {"", "a b", "\u2581x", "\t", "\xff", "e\u0301"}) {
    EXPECT_THAT(message_of(text, {.user_defined = {piece}}), HasSubstr("cannot be a piece")) << piece;
  }
  EXPECT_THAT(message_of(text, {.user_defined = {"<s>"}}), HasSubstr("tokenizer"));
  EXPECT_THAT(message_of(text, {.user_defined = {"xx", "xx"}}), HasSubstr("tokenizer"));
}

}  // namespace
}  // namespace zhuyi::text
