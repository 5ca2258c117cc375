// The corpus as ids and the validator: against ids counted by hand, and sums and translations made one sentence at a
// time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "infer/translate_tokens.h"
#include "infer/translator.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

using ::testing::ElementsAre;

std::vector<std::int32_t> ids(const text::Tokenizer& tokenizer, const std::string& letters) {
  std::vector<std::int32_t> found;
  for (const char letter : letters) found.push_back(tokenizer.id("\u2581" + std::string(1, letter)));
  found.push_back(tokenizer.eos());
  return found;
}

std::vector<std::int32_t> copy(std::span<const std::int32_t> numbers) { return {numbers.begin(), numbers.end()}; }

data::SentencePair pair(const std::string& source, const std::string& target) {
  data::SentencePair made;
  made.source = source;
  made.target = target;
  return made;
}

class Corpus : public ::testing::Test {
 protected:
  text::Tokenizer tokenizer_ = letter_tokenizer();
  // Tokens with eos: 4 and 3, 2 and 5, 6 and 2, 1 and 2 (an empty side is its eos).
  std::vector<data::SentencePair> pairs_ = {pair("a b c", "c b"), pair("d", "a b c d"), pair("e f g h i", "e"),
                                            pair("", "j")};
};

TEST_F(Corpus, HoldsEachPairWithItsEnds) {
  const EncodedCorpus corpus(pairs_, tokenizer_, tokenizer_, 0);
  ASSERT_EQ(corpus.size(), 4);
  EXPECT_EQ(corpus.left_out(), 0);
  EXPECT_EQ(corpus.target_tokens(), 3 + 5 + 2 + 2);
  EXPECT_EQ(copy(corpus.source(0)), ids(tokenizer_, "abc"));
  EXPECT_EQ(copy(corpus.target(0)), ids(tokenizer_, "cb"));
  EXPECT_EQ(copy(corpus.source(2)), ids(tokenizer_, "efghi"));
  EXPECT_EQ(copy(corpus.source(3)), ids(tokenizer_, ""));
  EXPECT_EQ(copy(corpus.target(3)), ids(tokenizer_, "j"));
  EXPECT_EQ(corpus.lengths()[1].source, 2);
  EXPECT_EQ(corpus.lengths()[1].target, 5);
}

TEST_F(Corpus, LeavesOutPairsWithASideTooLong) {
  const EncodedCorpus corpus(pairs_, tokenizer_, tokenizer_, 4);
  ASSERT_EQ(corpus.size(), 2);
  EXPECT_EQ(corpus.left_out(), 2);
  EXPECT_EQ(corpus.target_tokens(), 3 + 2);
  EXPECT_EQ(corpus.index(0), 0);
  EXPECT_EQ(corpus.index(1), 3);
  EXPECT_EQ(copy(corpus.target(1)), ids(tokenizer_, "j"));
  EXPECT_EQ(EncodedCorpus(pairs_, tokenizer_, tokenizer_, 5).left_out(), 1);
  EXPECT_EQ(EncodedCorpus(pairs_, tokenizer_, tokenizer_, 6).left_out(), 0);
}

TEST_F(Corpus, MakesBatchesInTheOrderAskedFor) {
  const EncodedCorpus corpus(pairs_, tokenizer_, tokenizer_, 5);  // without the third
  const std::vector<std::int64_t> wanted = {2, 0};
  const nn::Batch batch = corpus.batch(wanted);
  std::vector<std::int32_t> source = ids(tokenizer_, "");
  for (const std::int32_t id : ids(tokenizer_, "abc")) source.push_back(id);
  std::vector<std::int32_t> target = ids(tokenizer_, "j");
  for (const std::int32_t id : ids(tokenizer_, "cb")) target.push_back(id);
  EXPECT_EQ(batch.source.ids, source);
  EXPECT_EQ(batch.target.ids, target);
  ASSERT_EQ(batch.source.sentences.count(), 2);
  EXPECT_EQ(batch.source.sentences.begin(1), 1);
  EXPECT_EQ(batch.source.sentences.end(1), 5);
  EXPECT_EQ(batch.target.sentences.begin(1), 2);
  EXPECT_EQ(batch.target.sentences.end(1), 5);
}

TEST_F(Corpus, ItsFingerprintSeesEveryChange) {
  const auto fingerprint = [&](const std::vector<data::SentencePair>& pairs, std::int64_t limit = 0) {
    return EncodedCorpus(pairs, tokenizer_, tokenizer_, limit).fingerprint();
  };
  const std::uint64_t before = fingerprint(pairs_);
  EXPECT_EQ(fingerprint(pairs_), before);
  EXPECT_NE(fingerprint(pairs_, 5), before);
  std::vector<data::SentencePair> changed = pairs_;
  changed[1].target = "a b d d";
  EXPECT_NE(fingerprint(changed), before);
  changed = pairs_;
  std::swap(changed[0], changed[1]);
  EXPECT_NE(fingerprint(changed), before);
  changed = pairs_;
  std::swap(changed[0].source, changed[0].target);
  EXPECT_NE(fingerprint(changed), before);
}

// 1,000 pairs are encoded by several threads: each must stand where it belongs.
TEST_F(Corpus, KeepsTheOrderOfALargerText) {
  const std::vector<data::SentencePair> pairs = letter_pairs(1000, 2, 8, true, 11);
  const EncodedCorpus corpus(pairs, tokenizer_, tokenizer_, 0);
  ASSERT_EQ(corpus.size(), 1000);
  for (std::int64_t i = 0; i < corpus.size(); ++i) {
    const data::SentencePair& wanted = pairs[static_cast<std::size_t>(i)];
    ASSERT_EQ(tokenizer_.decode(corpus.source(i)), wanted.source);
    ASSERT_EQ(tokenizer_.decode(corpus.target(i)), wanted.target);
  }
}

TEST_F(Corpus, TheValidationLossIsTheMeanOverEveryToken) {
  const std::vector<data::SentencePair> pairs = letter_pairs(500, 2, 8, true, 12);  // several batches
  const formats::Model model = new_model(small_config(16, 1, 0.3), tokenizer_);     // dropout is for training only
  double sum = 0;
  std::int64_t tokens = 0;
  for (const data::SentencePair& one : pairs) {
    nn::Batch batch;
    std::vector<std::int32_t> source = tokenizer_.encode(one.source);
    std::vector<std::int32_t> target = tokenizer_.encode(one.target);
    source.push_back(tokenizer_.eos());
    target.push_back(tokenizer_.eos());
    batch.source.append(source);
    batch.target.append(target);
    const tensor::Tensor nll = model.transformer->nll(batch);
    for (std::int64_t row = 0; row < nll.rows(); ++row) sum += nll.at(row, 0);
    tokens += static_cast<std::int64_t>(target.size());
  }
  const Validator validator(pairs, tokenizer_, tokenizer_, 10);
  EXPECT_EQ(validator.size(), 500);
  const Validation quick = validator.run(model, false);
  EXPECT_NEAR(quick.nll, sum / static_cast<double>(tokens), 1e-6);
  EXPECT_EQ(quick.translated, 0);
  EXPECT_EQ(validator.run(model, true).nll, quick.nll);
  EXPECT_EQ(validator.run(model, true).translated, 10);
}

TEST_F(Corpus, TheValidationScoresAreThoseOfGreedyTranslations) {
  const std::vector<data::SentencePair> pairs = letter_pairs(30, 2, 8, false, 13);
  const formats::Model model = new_model(small_config(16, 1), tokenizer_, 4);
  infer::SearchOptions options = infer::search_options(model);
  options.beam_size = 1;
  std::vector<std::string> hypotheses;
  std::vector<std::string> references;
  for (std::size_t i = 0; i < 20; ++i) {
    std::vector<std::int32_t> source = tokenizer_.encode(pairs[i].source);
    source.push_back(tokenizer_.eos());
    const std::vector<std::vector<std::int32_t>> alone = {source};
    hypotheses.push_back(
        tokenizer_.decode(infer::translate_tokens(*model.transformer, alone, options)[0].front().tokens));
    references.push_back(pairs[i].target);
  }
  const Validation found = Validator(pairs, tokenizer_, tokenizer_, 20).run(model, true);
  EXPECT_EQ(found.translated, 20);
  EXPECT_EQ(found.bleu, metrics::corpus_bleu(hypotheses, references, metrics::Tokenization::mteval_13a).score);
  EXPECT_EQ(found.chrf, metrics::corpus_chrf(hypotheses, references).score);
  EXPECT_GT(found.chrf, 0);
  EXPECT_EQ(Validator(pairs, tokenizer_, tokenizer_, 1000).run(model, true).translated, 30);
}

TEST_F(Corpus, NothingToValidateOnIsAnError) { EXPECT_THROW(Validator({}, tokenizer_, tokenizer_, 1), base::Error); }

}  // namespace
}  // namespace zhuyi::train
