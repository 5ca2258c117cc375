// A model learns: to copy, to reverse, and a small corpus of two languages by heart.

#include <gtest/gtest.h>

#include <set>

#include "base/parallel.h"
#include "infer/translate_tokens.h"
#include "infer/translator.h"
#include "metrics/bleu.h"
#include "temporary_folder.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

// Translations of the sources of `pairs`, greedy, as text.
std::vector<std::string> translations(const formats::Model& model, const std::vector<data::SentencePair>& pairs) {
  std::vector<std::vector<std::int32_t>> sources;
  for (const data::SentencePair& pair : pairs) {
    sources.push_back(model.source.encode(pair.source));
    sources.back().push_back(model.source.eos());
  }
  infer::SearchOptions options = infer::search_options(model);
  options.beam_size = 1;
  std::vector<std::string> texts;
  for (const auto& found : infer::translate_tokens(*model.transformer, sources, options)) {
    texts.push_back(model.target.decode(found.front().tokens));
  }
  return texts;
}

// These models are small: one thread is faster than two that wait for each other.
TrainOptions learning_options(const std::filesystem::path& directory, std::int64_t steps) {
  base::set_threads(1);
  TrainOptions options;
  options.directory = directory;
  options.schedule = {.kind = optim::ScheduleKind::linear, .peak = 3e-3, .warmup = 50};
  options.budget.steps = steps;
  options.validate_steps = steps;
  options.keep = 1;
  return options;
}

// Share of 300 sequences never seen in training, of every length, that come out exactly right after training.
double exact_match(bool backwards, std::int64_t steps) {
  const TemporaryFolder folder;
  std::set<std::string> seen;
  const std::vector<data::SentencePair> pairs = letter_pairs(4000, 2, 8, backwards, 1);
  for (const data::SentencePair& pair : pairs) seen.insert(pair.source);
  std::vector<data::SentencePair> unseen;
  for (const data::SentencePair& pair : letter_pairs(1000, 3, 8, backwards, 2)) {
    if (unseen.size() < 300 && seen.insert(pair.source).second) unseen.push_back(pair);
  }
  EXPECT_EQ(unseen.size(), 300u);

  const text::Tokenizer tokenizer = letter_tokenizer();
  EXPECT_EQ(tokenizer.encode("a b c").size(), 3u);
  formats::Model model = new_model(small_config(64, 2), tokenizer);
  TrainOptions options = learning_options(folder / "", steps);
  options.batches.tokens = 512;
  Listener listener;
  train(model, EncodedCorpus(pairs, tokenizer, tokenizer, 0), Validator(unseen, tokenizer, tokenizer, 0), options,
        listener);
  const std::vector<std::string> found = translations(formats::load_model(folder / "model.safetensors"), unseen);
  std::int64_t right = 0;
  for (std::size_t i = 0; i < unseen.size(); ++i) right += found[i] == unseen[i].target ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(unseen.size());
}

TEST(Learning, CopiesSequencesItHasNeverSeen) { EXPECT_GE(exact_match(false, 400), 0.99); }

TEST(Learning, ReversesSequencesItHasNeverSeen) { EXPECT_GE(exact_match(true, 600), 0.99); }

struct Phrase {
  const char* english;
  const char* chinese;
};

// 200 instructions: what to do, with what, in which of five ways.
std::vector<data::SentencePair> instructions() {
  constexpr Phrase kVerbs[] = {
      {"open", "打开"}, {"close", "关闭"}, {"save", "保存"}, {"print", "打印"}, {"delete", "删除"}};
  constexpr Phrase kThings[] = {{"the file", "文件"},           {"the new table", "新表格"},
                                {"two pictures", "两张图片"},   {"this page", "此页"},
                                {"every document", "每个文档"}, {"the last letter", "最后一封信"},
                                {"my report", "我的报告"},      {"the red folder", "红色文件夹"}};
  constexpr Phrase kFrames[] = {{"Please {} {}.", "请{}{}。"},
                                {"Do not {} {} today.", "今天不要{}{}。"},
                                {"Can you {} {}?", "你能{}{}吗？"},
                                {"She wants to {} {} again.", "她想再次{}{}。"},
                                {"Click here to {} {}", "点击此处{}{}"}};
  std::vector<data::SentencePair> pairs;
  for (const Phrase& frame : kFrames) {
    for (const Phrase& verb : kVerbs) {
      for (const Phrase& thing : kThings) {
        data::SentencePair pair;
        pair.source = fmt::format(fmt::runtime(frame.english), verb.english, thing.english);
        pair.target = fmt::format(fmt::runtime(frame.chinese), verb.chinese, thing.chinese);
        pairs.push_back(std::move(pair));
      }
    }
  }
  return pairs;
}

TEST(Learning, KnowsASmallCorpusByHeart) {
  const TemporaryFolder folder;
  const std::vector<data::SentencePair> pairs = instructions();
  std::set<std::string> distinct;
  std::vector<std::string> sentences;
  std::vector<std::string> references;
  for (const data::SentencePair& pair : pairs) {
    distinct.insert(pair.source + "\t" + pair.target);
    sentences.push_back(pair.source);
    sentences.push_back(pair.target);
    references.push_back(pair.target);
  }
  ASSERT_EQ(distinct.size(), 200u);

  text::TokenizerTraining training;
  training.size = 400;
  training.size_is_limit = true;
  training.threads = 1;
  const text::Tokenizer tokenizer(text::train_tokenizer(sentences, training));
  formats::Model model = new_model(small_config(64, 2), tokenizer);
  TrainOptions options = learning_options(folder / "", 300);
  options.batches.tokens = 512;
  Listener listener;
  train(model, EncodedCorpus(pairs, tokenizer, tokenizer, 0), Validator(pairs, tokenizer, tokenizer, 0), options,
        listener);
  const std::vector<std::string> found = translations(model, pairs);
  EXPECT_GT(metrics::corpus_bleu(found, references, metrics::Tokenization::zh).score, 95);
}

}  // namespace
}  // namespace zhuyi::train
