#include "metrics/bleu.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/parallel.h"
#include "golden.h"

namespace zhuyi::metrics {
namespace {

TEST(Bleu, EqualsSacrebleuInEveryTokenisation) {
  const nlohmann::json file = golden();
  ASSERT_GE(file.at("cases").size(), 16u);
  for (const nlohmann::json& one : file.at("cases")) {
    const std::vector<std::string> hypotheses = strings(one.at("hypotheses"));
    const std::vector<std::string> references = strings(one.at("references"));
    ASSERT_EQ(one.at("bleu").size(), 5u);
    for (const auto& [name, expected] : one.at("bleu").items()) {
      SCOPED_TRACE(one.at("name").get<std::string>() + ", " + name);
      const BleuScore score = corpus_bleu(hypotheses, references, tokenization_named(name));
      const double value = expected.at("score");
      EXPECT_NEAR(score.score, value, margin(value));
      for (std::size_t n = 0; n < 4; ++n) {
        const double precision = expected.at("precisions").at(n);
        EXPECT_NEAR(score.precisions[n], precision, margin(precision));
        EXPECT_EQ(score.matches[n], expected.at("matches").at(n).get<std::int64_t>());
        EXPECT_EQ(score.totals[n], expected.at("totals").at(n).get<std::int64_t>());
      }
      const double penalty = expected.at("brevity_penalty");
      EXPECT_NEAR(score.brevity_penalty, penalty, margin(penalty));
      EXPECT_EQ(score.hypothesis_length, expected.at("hypothesis_length").get<std::int64_t>());
      EXPECT_EQ(score.reference_length, expected.at("reference_length").get<std::int64_t>());
      EXPECT_EQ(score.signature, with_our_version(expected.at("signature"), file));
      EXPECT_EQ(format(score, 1), with_our_version(expected.at("text1"), file));
      EXPECT_EQ(format(score, 4), with_our_version(expected.at("text4"), file));
    }
  }
}

TEST(Bleu, OfSentencesEqualsSacrebleuWithEffectiveOrder) {
  const nlohmann::json file = golden();
  ASSERT_GE(file.at("cases").size(), 16u);
  for (const nlohmann::json& one : file.at("cases")) {
    const std::vector<std::string> hypotheses = strings(one.at("hypotheses"));
    const std::vector<std::string> references = strings(one.at("references"));
    ASSERT_EQ(one.at("bleu").size(), 5u);
    for (const auto& [name, expected] : one.at("bleu").items()) {
      for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        const BleuScore score = sentence_bleu(hypotheses[i], references[i], tokenization_named(name));
        const double value = expected.at("sentences").at(i);
        EXPECT_NEAR(score.score, value, margin(value)) << one.at("name") << ", " << name << ", sentence " << i;
        EXPECT_EQ(score.signature, with_our_version(expected.at("sentence_signature"), file));
      }
    }
  }
}

// By hand: unigrams 5 of 6 ("the" twice), bigrams 3 of 5 (the cat, on the, the mat), trigrams 1 of 4 (on the mat),
// 4-grams 0 of 3, smoothed to 1 / (2 * 3); equal lengths. BLEU = (5/6 * 3/5 * 1/4 * 1/6)^(1/4) = (1/48)^(1/4).
TEST(Bleu, EqualsAHandCalculation) {
  const std::vector<std::string> hypothesis = {"the cat sat on the mat"};
  const std::vector<std::string> reference = {"the cat is on the mat"};
  const BleuScore score = corpus_bleu(hypothesis, reference, Tokenization::none);
  EXPECT_THAT(score.matches, testing::ElementsAre(5, 3, 1, 0));
  EXPECT_THAT(score.totals, testing::ElementsAre(6, 5, 4, 3));
  EXPECT_NEAR(score.score, 100 * std::pow(1.0 / 48, 0.25), 1e-12);
}

TEST(Bleu, IsTheSameForAnyNumberOfThreads) {
  std::vector<std::string> hypotheses;
  std::vector<std::string> references;
  for (int i = 0; i < 500; ++i) {
    hypotheses.push_back(fmt::format("sentence {} of the {} hypotheses, 第{}句。", i, i % 7, i % 11));
    references.push_back(fmt::format("sentence {} of the {} references, 第{}句。", i, i % 5, i % 13));
  }
  const int before = base::threads();
  base::set_threads(1);
  const BleuScore alone = corpus_bleu(hypotheses, references, Tokenization::zh);
  base::set_threads(4);
  const BleuScore together = corpus_bleu(hypotheses, references, Tokenization::zh);
  base::set_threads(before);
  EXPECT_EQ(alone.score, together.score);
  EXPECT_GT(alone.score, 0);
  EXPECT_EQ(alone.matches, together.matches);
}

TEST(Bleu, RefusesUnequalCountsAndNoSentenceAtAll) {
  const std::vector<std::string> one = {"a"};
  const std::vector<std::string> two = {"a", "b"};
  EXPECT_THROW(corpus_bleu({}, {}, Tokenization::none), base::Error);
  try {
    corpus_bleu(one, two, Tokenization::none);
    FAIL() << "no error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::invalid_argument);
    EXPECT_THAT(error.message(), testing::HasSubstr("1 hypotheses, 2 references"));
  }
}

}  // namespace
}  // namespace zhuyi::metrics
