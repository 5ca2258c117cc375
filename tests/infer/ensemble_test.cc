// Several models as one: the mean of their probabilities, in the search and in scores.

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "infer/small_translator.h"
#include "infer/translator.h"

namespace zhuyi::infer {
namespace {

// Models of two sizes with one vocabulary.
std::vector<formats::Model> two_models() {
  std::vector<formats::Model> models;
  models.push_back(small_model());
  models.push_back(small_model());
  nn::Config config = models[0].transformer->config();
  config.d_model = 24;
  config.d_ff = 16;
  config.encoder_layers = 1;
  models[1].transformer = std::make_unique<nn::Transformer>(config, models[0].transformer->bos(), 99);
  base::Random random(12);
  for (const autograd::ParameterPtr& parameter : models[1].transformer->parameters().list()) {
    for (float& x : parameter->value.data<float>()) x += static_cast<float>(0.3 * random.normal());
  }
  return models;
}

TEST(Ensemble, ProbabilitiesAreTheWeightedMean) {
  const Translator both(two_models(), {1, 3});
  const Translator first(small_model());
  std::vector<formats::Model> models = two_models();
  const Translator second(std::move(models[1]));
  TranslateOptions how = both.defaults();
  how.search.max_length_extra = 8;
  how.search.n_best = 4;
  how.protect = false;
  const std::vector<std::string> lines = {"Close the file", "打开、关闭、保存", "Save all files now"};
  const auto scores = [](const Translator& translator, std::vector<std::int32_t> source,
                         const std::vector<std::int32_t>& target) {
    const Member member{translator.model().transformer.get()};
    return score_tokens({&member, 1}, {&source, 1}, {&target, 1})[0];
  };
  for (const std::string& line : lines) {
    std::vector<std::int32_t> source = both.model().source.encode(line);
    source.push_back(both.model().source.eos());
    const Translation translation = both.translate({&line, 1}, how)[0];
    for (const Alternative& found : translation.alternatives) {
      std::vector<std::int32_t> target = found.tokens;
      if (found.finished) target.push_back(both.model().target.eos());
      const std::vector<float> a = scores(first, source, target);
      const std::vector<float> b = scores(second, source, target);
      double sum = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        sum += std::log(0.25 * std::exp(static_cast<double>(a[i])) + 0.75 * std::exp(static_cast<double>(b[i])));
      }
      EXPECT_NEAR(found.log_probability, sum, 1e-4);
    }
  }
  // The score of given text is the same mean.
  const std::string target = "打开文件";
  const ScoredPair a = first.score({lines.data(), 1}, {&target, 1})[0];
  const ScoredPair b = second.score({lines.data(), 1}, {&target, 1})[0];
  const ScoredPair mean = both.score({lines.data(), 1}, {&target, 1})[0];
  for (std::size_t i = 0; i < a.token_log_probabilities.size(); ++i) {
    EXPECT_NEAR(std::exp(static_cast<double>(mean.token_log_probabilities[i])),
                0.25 * std::exp(static_cast<double>(a.token_log_probabilities[i])) +
                    0.75 * std::exp(static_cast<double>(b.token_log_probabilities[i])),
                1e-6);
  }
}

TEST(Ensemble, AModelTwiceIsTheModel) {
  std::vector<formats::Model> twice;
  twice.push_back(small_model());
  twice.push_back(small_model());
  const Translator both(std::move(twice));
  const Translator one(small_model());
  for (const std::string& line : training_lines()) {
    const Translation a = both.translate({&line, 1}, both.defaults())[0];
    const Translation b = one.translate({&line, 1}, one.defaults())[0];
    EXPECT_NEAR(a.alternatives[0].log_probability, b.alternatives[0].log_probability, 1e-3);
  }
}

TEST(Ensemble, ReadsTheScriptsOfAllItsModels) {
  const auto kept = [](const std::vector<std::string>& first, const std::vector<std::string>& second) {
    std::vector<formats::Model> models = two_models();
    models[0].source_scripts = first;
    models[1].source_scripts = second;
    const Translator both(std::move(models));
    std::vector<bool> result;
    for (const std::string line : {"file", "文件", "файл"}) {
      result.push_back(both.translate({&line, 1}, both.defaults())[0].parts == 0);
    }
    return result;
  };
  EXPECT_EQ(kept({"Latn"}, {"Latn"}), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(kept({"Latn"}, {"Hani", "Latn"}), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(kept({"Latn"}, {}), (std::vector<bool>{false, false, false})) << "of the second nothing is known";
}

TEST(Ensemble, RefusesWhatDoesNotGoTogether) {
  std::vector<formats::Model> models = two_models();
  text::TokenizerTraining training;
  training.size = 340;
  training.size_is_limit = true;
  training.threads = 1;
  std::vector<std::string> lines = training_lines();
  lines.resize(5);
  models[1].target = text::Tokenizer(text::train_tokenizer(lines, training));
  EXPECT_THROW(Translator(std::move(models)), base::Error);
  EXPECT_THROW(Translator(two_models(), {1}), base::Error);
  EXPECT_THROW(Translator(two_models(), {1, 0}), base::Error);
  EXPECT_THROW(Translator(std::vector<formats::Model>()), base::Error);
}

}  // namespace
}  // namespace zhuyi::infer
