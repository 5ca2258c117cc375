#include "metrics/chrf.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "golden.h"

namespace zhuyi::metrics {
namespace {

void expect_equal_to_sacrebleu(const std::string& key, const ChrfOptions& options) {
  const nlohmann::json file = golden();
  ASSERT_GE(file.at("cases").size(), 16u);
  for (const nlohmann::json& one : file.at("cases")) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    const std::vector<std::string> hypotheses = strings(one.at("hypotheses"));
    const std::vector<std::string> references = strings(one.at("references"));
    const nlohmann::json& expected = one.at(key);
    const ChrfScore score = corpus_chrf(hypotheses, references, options);
    const double value = expected.at("score");
    EXPECT_NEAR(score.score, value, margin(value));
    EXPECT_EQ(score.name, expected.at("name").get<std::string>());
    EXPECT_EQ(score.signature, with_our_version(expected.at("signature"), file));
    EXPECT_EQ(format(score, 1), with_our_version(expected.at("text1"), file));
    EXPECT_EQ(format(score, 4), with_our_version(expected.at("text4"), file));
    for (std::size_t i = 0; i < hypotheses.size(); ++i) {
      const double of_sentence = expected.at("sentences").at(i);
      EXPECT_NEAR(sentence_chrf(hypotheses[i], references[i], options).score, of_sentence, margin(of_sentence)) << i;
    }
  }
}

TEST(Chrf, EqualsSacrebleu) { expect_equal_to_sacrebleu("chrf", {}); }

TEST(Chrf, PlusPlusEqualsSacrebleu) { expect_equal_to_sacrebleu("chrf++", {.word_order = 2}); }

// By hand: "ab c" against "abd" has 2 of 3 characters on either side and 1 of 2 pairs (ab), no triple of one; precision
// = recall = F = (2/3 + 1/2 + 0) / 3.
TEST(Chrf, EqualsAHandCalculation) {
  EXPECT_NEAR(sentence_chrf("ab c", "abd").score, 100 * (2.0 / 3 + 1.0 / 2) / 3, 1e-12);
}

// By hand: one order; precision 1/2, recall 1/4; beta 3: F = 10 * 1/8 / (9/2 + 1/4) = 5/19.
TEST(Chrf, WeighsRecallByBeta) {
  EXPECT_NEAR(sentence_chrf("ax", "abcd", {.character_order = 1, .beta = 3}).score, 100 * 5.0 / 19, 1e-12);
}

TEST(Chrf, RefusesUnequalCountsNoSentenceAndOptionsOutOfRange) {
  const std::vector<std::string> one = {"a"};
  const std::vector<std::string> two = {"a", "b"};
  EXPECT_THROW(corpus_chrf(one, two), base::Error);
  EXPECT_THROW(corpus_chrf({}, {}), base::Error);
  EXPECT_THROW(corpus_chrf(one, one, {.character_order = 0}), base::Error);
  EXPECT_THROW(corpus_chrf(one, one, {.word_order = -1}), base::Error);
  EXPECT_THROW(sentence_chrf("a", "a", {.beta = 0}), base::Error);
}

}  // namespace
}  // namespace zhuyi::metrics
