// Rescoring against a calculation of its own: log-probabilities from the model's steps, the penalty from its formula.

#include "infer/rescore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "infer/small_translator.h"

namespace zhuyi::infer {
namespace {

using ::testing::ElementsAre;

// The log-probability of a text and the number of its pieces, the end counted: softmax in f64 over the logits of the
// full pass.
struct Judgement {
  double log_probability = 0;
  double length = 0;
};

Judgement judge(const formats::Model& model, const std::string& source, const std::string& target) {
  std::vector<std::int32_t> read = model.source.encode(source);
  read.push_back(model.source.eos());
  std::vector<std::int32_t> written = model.target.encode(target);
  written.push_back(model.target.eos());
  nn::Tokens sources;
  nn::Tokens targets;
  sources.append(read);
  targets.append(written);
  autograd::Run run;
  const nn::Transformer& transformer = *model.transformer;
  const tensor::Tensor logits =
      transformer.logits(transformer.decode(targets, transformer.encode(sources, run), run).value());
  Judgement result{.log_probability = 0, .length = static_cast<double>(written.size())};
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    double sum = 0;
    for (std::int64_t token = 0; token < logits.columns(); ++token) sum += std::exp(logits.at(row, token));
    result.log_probability += logits.at(row, written[i]) - std::log(sum);
  }
  return result;
}

Alternative alternative(const std::string& text, double score, bool finished = true) {
  Alternative result;
  result.text = text;
  result.score = score;
  result.finished = finished;
  return result;
}

// Two lines; of the first a translation that was cut short has the best score of the search.
std::vector<Translation> found() {
  std::vector<Translation> translations(2);
  translations[0].alternatives = {alternative("文件", -0.5, false), alternative("关闭文件", -1),
                                  alternative("打开、关闭、保存", -1.25)};
  translations[1].alternatives = {alternative("保存", -2), alternative("open", -2.5)};
  for (Translation& translation : translations) {
    translation.text = translation.alternatives[0].text;
    translation.score = translation.alternatives[0].score;
  }
  return translations;
}

const std::vector<std::string> kLines = {"Close the file", "Save it!"};

TEST(Rescore, AddsTheWeightedScoreOfTheOtherModel) {
  const formats::Model model = small_model(0, 5);
  const Translator other(small_model(0, 5));
  SearchOptions search = other.defaults().search;
  search.length_penalty = LengthPenalty::gnmt;
  search.alpha = 0.7;
  for (const bool reverse : {false, true}) {
    SCOPED_TRACE(reverse);
    const std::vector<Translation> translations =
        rescored(found(), kLines, other, search, {.weight = 0.25, .reverse = reverse});
    const std::vector<Translation> before = found();
    for (std::size_t i = 0; i < kLines.size(); ++i) {
      ASSERT_EQ(translations[i].alternatives.size(), before[i].alternatives.size());
      for (const Alternative& was : before[i].alternatives) {
        const Judgement judgement = reverse ? judge(model, was.text, kLines[i]) : judge(model, kLines[i], was.text);
        const double expected =
            was.score + 0.25 * judgement.log_probability / std::pow((5 + judgement.length) / 6, 0.7);
        const auto now = std::ranges::find(translations[i].alternatives, was.text, &Alternative::text);
        ASSERT_NE(now, translations[i].alternatives.end()) << was.text;
        EXPECT_NEAR(now->score, expected, 1e-4) << was.text;
      }
    }
  }
}

std::vector<std::string> texts(const Translation& translation) {
  std::vector<std::string> result;
  for (const Alternative& alternative : translation.alternatives) result.push_back(alternative.text);
  return result;
}

TEST(Rescore, SortsAnewWithFinishedOnesFirst) {
  const Translator other(small_model(0, 5));
  SearchOptions search = other.defaults().search;
  search.length_penalty = LengthPenalty::none;
  // Of no weight: what was cut short goes behind, and nothing else changes.
  std::vector<Translation> translations = rescored(found(), kLines, other, search, {.weight = 0});
  EXPECT_THAT(texts(translations[0]), ElementsAre("关闭文件", "打开、关闭、保存", "文件"));
  EXPECT_EQ(translations[0].text, "关闭文件");
  EXPECT_EQ(translations[0].score, -1);
  EXPECT_THAT(texts(translations[1]), ElementsAre("保存", "open"));
  EXPECT_EQ(translations[1].score, -2);
  // Of great weight: the order is the other model's, and of the opposite weight the opposite.
  const formats::Model model = small_model(0, 5);
  const bool saves = judge(model, kLines[1], "保存").log_probability > judge(model, kLines[1], "open").log_probability;
  for (const double weight : {1e6, -1e6}) {
    translations = rescored(found(), kLines, other, search, {.weight = weight});
    EXPECT_EQ(translations[1].text, saves == (weight > 0) ? "保存" : "open");
    EXPECT_EQ(translations[1].score, translations[1].alternatives[0].score);
    EXPECT_EQ(translations[0].alternatives.back().text, "文件") << "cut short";
  }
}

TEST(Rescore, LeavesWhatIsTooLongAndWhatIsBlank) {
  const Translator other(small_model(24));
  std::string longest;
  for (int i = 0; i < 40; ++i) longest += "字";
  std::vector<Translation> translations(2);
  translations[0].alternatives = {alternative(longest, -3)};
  translations = rescored(std::move(translations), std::vector<std::string>{"Close the file", ""}, other,
                          other.defaults().search, {});
  EXPECT_EQ(translations[0].score, -3);
  EXPECT_EQ(translations[0].text, longest);
  EXPECT_EQ(translations[1].text, "");
}

TEST(Rescore, RefusesWhatDoesNotGoTogether) {
  const Translator other(small_model(0, 5));
  EXPECT_THROW(rescored(found(), std::vector<std::string>{"one"}, other, other.defaults().search, {}), base::Error);
  EXPECT_THROW(
      rescored(found(), kLines, other, other.defaults().search, {.weight = std::numeric_limits<double>::quiet_NaN()}),
      base::Error);
}

}  // namespace
}  // namespace zhuyi::infer
