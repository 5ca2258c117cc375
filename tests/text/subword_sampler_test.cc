// Sampled segmentations: their distribution against all segmentations counted out, and the text they stand for.

#include "text/subword_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/piece_model.h"

namespace zhuyi::text {
namespace {

using Ids = std::vector<std::int32_t>;

std::vector<std::string> lines() {
  return {"the lowest of the low",
          "lower and lower",
          "newest newer new",
          "wider and widest",
          "the widest river",
          "最新的文件",
          "打开最新的文件",
          "文件很新",
          "最低的河",
          "新的河很宽"};
}

Tokenizer trained(TokenizerType type) {
  TokenizerTraining options;
  options.type = type;
  options.size = 330;
  options.size_is_limit = true;
  options.user_defined = {"<br>"};
  options.threads = 1;
  return Tokenizer(train_tokenizer(lines(), options));
}

// All ways to write `text` in normal pieces.
void segmentations(const PieceModel& model, const std::string& text, const Ids& so_far, std::vector<Ids>& found) {
  if (text.empty()) found.push_back(so_far);
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].kind != PieceKind::normal || !text.starts_with(model.pieces[id].text)) continue;
    Ids longer = so_far;
    longer.push_back(static_cast<std::int32_t>(id));
    segmentations(model, text.substr(model.pieces[id].text.size()), longer, found);
  }
}

TEST(SubwordSampler, UnigramDrawsEachSegmentationAsOftenAsItShould) {
  const Tokenizer tokenizer = trained(TokenizerType::unigram);
  const PieceModel model = read_piece_model(tokenizer.serialized());
  const Ids usual = tokenizer.encode("the widest river");
  std::vector<Ids> all;
  segmentations(model, "\u2581the\u2581widest\u2581river", {}, all);
  ASSERT_GT(all.size(), 5u);
  constexpr int kDraws = 20000;
  for (const double amount : {0.1, 0.5}) {
    std::map<Ids, double> expected;
    double sum = 0;
    for (const Ids& ids : all) {
      double score = 0;
      for (const std::int32_t id : ids) score += model.pieces[static_cast<std::size_t>(id)].score;
      sum += expected[ids] = std::exp(amount * score);
    }
    const SubwordSampler sampler(tokenizer, amount);
    std::map<Ids, int> drawn;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      base::Random random(base::combine(3, i));
      ++drawn[sampler.sample(usual, random)];
    }
    for (const auto& [ids, count] : drawn) EXPECT_TRUE(expected.contains(ids));
    for (const auto& [ids, weight] : expected) {
      const double share = weight / sum;  // within five standard deviations
      EXPECT_NEAR(static_cast<double>(drawn[ids]) / kDraws, share, 5 * std::sqrt(share * (1 - share) / kDraws));
    }
  }
}

TEST(SubwordSampler, AtTheExtremesItIsSentencePiecesOwnSegmentation) {
  const Tokenizer unigram = trained(TokenizerType::unigram);
  const Tokenizer bpe = trained(TokenizerType::bpe);
  EXPECT_FALSE(is_bpe(unigram));
  EXPECT_TRUE(is_bpe(bpe));
  const SubwordSampler sharp(unigram, 1e4);
  const SubwordSampler faithful(bpe, 1e-12);
  const SubwordSampler letters(bpe, 1);
  base::Random random(1);
  for (const std::string& line : lines()) {
    EXPECT_EQ(sharp.sample(unigram.encode(line), random), unigram.encode(line)) << line;
    EXPECT_EQ(faithful.sample(bpe.encode(line), random), bpe.encode(line)) << line;
    for (const std::int32_t id : letters.sample(bpe.encode(line), random)) {
      const std::string& piece = bpe.piece(id);  // one character: one byte, or three of Chinese or of the space's mark
      EXPECT_TRUE(piece.size() == 1 || piece.size() == 3) << piece;
    }
  }
}

TEST(SubwordSampler, TheTextStays) {
  for (const TokenizerType type : {TokenizerType::unigram, TokenizerType::bpe}) {
    const Tokenizer tokenizer = trained(type);
    const SubwordSampler sampler(tokenizer, 0.2);
    bool other = false;
    for (const std::string& text : {std::string("the newest  river<br>low"),
                                    std::string("最新的河 €uro 🙂 low"), std::string(), lines()[4]}) {
      const Ids usual = tokenizer.encode(text);
      for (std::uint64_t i = 0; i < 20; ++i) {
        base::Random random(i);
        base::Random same(i);
        const Ids ids = sampler.sample(usual, random);
        EXPECT_EQ(tokenizer.decode(ids), tokenizer.decode(usual));
        EXPECT_EQ(sampler.sample(usual, same), ids);
        other = other || ids != usual;
        if (text.find("<br>") != std::string::npos) {
          EXPECT_EQ(std::count(ids.begin(), ids.end(), tokenizer.id("<br>")), 1);
        }
      }
    }
    EXPECT_TRUE(other);
  }
}

TEST(SubwordSampler, RefusesAmountsThatCannotBe) {
  const Tokenizer bpe = trained(TokenizerType::bpe);
  EXPECT_THROW(SubwordSampler(bpe, 0), base::Error);
  EXPECT_THROW(SubwordSampler(bpe, 1.5), base::Error);
  EXPECT_THROW(SubwordSampler(bpe, std::nan("")), base::Error);
  EXPECT_NO_THROW(SubwordSampler(trained(TokenizerType::unigram), 1.5));
  const Ids outside = {100000};
  base::Random random(1);
  EXPECT_THROW(SubwordSampler(bpe, 0.5).sample(outside, random), base::Error);
}

}  // namespace
}  // namespace zhuyi::text
