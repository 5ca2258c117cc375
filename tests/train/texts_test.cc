// What a run trains on: weighted and streamed texts, words cut anew, and parts of the model that stay as they are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/parallel.h"
#include "data/weighted_file.h"
#include "formats/safetensors.h"
#include "temporary_folder.h"
#include "train/epoch_plan.h"
#include "train/runs.h"

namespace zhuyi::train {
namespace {

using ::testing::HasSubstr;

class Texts : public ::testing::Test {
 protected:
  Texts() : tokenizer_(letter_tokenizer()) {
    base::set_threads(1);
    options_.batches = {.tokens = 60, .pool = 4, .seed = 5};
    options_.schedule = {.kind = optim::ScheduleKind::inverse_square_root, .peak = 3e-3, .warmup = 5};
    options_.budget.steps = 8;
    options_.validate_steps = 4;
    options_.report_steps = 1;
    options_.keep = 0;
    valid_ = letter_pairs(10, 2, 6, false, 4);
  }

  std::filesystem::path write_tsv(const std::string& name, const std::vector<data::SentencePair>& pairs) {
    std::string text;
    for (const data::SentencePair& pair : pairs) text += pair.source + "\t" + pair.target + "\n";
    base::write_file(folder_ / name, text);
    return folder_ / name;
  }

  TrainResult call(const std::string& name, CorpusSource& source, std::int64_t stop_after = -1) {
    std::filesystem::create_directories(folder_ / name);
    options_.directory = folder_ / name;
    formats::Model model = new_model(small_config(16, 1, 0.1), tokenizer_);
    Listener listener(stop_after);
    OneProcess alone;
    return train(model, source, Validator(valid_, tokenizer_, tokenizer_, 0), options_, listener, alone);
  }
  StreamedCorpus streamed(const std::vector<data::WeightedFile>& files, std::int64_t pairs) {
    return {data::ShuffledText(files, pairs, 3), tokenizer_, tokenizer_, 0, {}};
  }
  std::string bytes(const std::string& name, const std::string& file) { return base::read_file(folder_ / name / file); }

  TemporaryFolder folder_;
  text::Tokenizer tokenizer_;
  TrainOptions options_;
  std::vector<data::SentencePair> valid_;
};

// Every pair of every part once an epoch, in batches of one part, in the plan's order from any point of it.
TEST_F(Texts, AStreamedEpochIsEveryPairOnce) {
  const std::vector<data::SentencePair> pairs = letter_pairs(1500, 2, 6, false, 3);
  StreamedCorpus source = streamed({{write_tsv("a.tsv", pairs), 1}}, 512);
  ASSERT_EQ(source.parts(0), 3);
  std::map<std::vector<std::int32_t>, int> expected;
  for (const data::SentencePair& pair : pairs) ++expected[tokenizer_.encode(pair.source)];
  EpochPlan plan(source, options_.batches);
  Progress progress;
  std::map<std::vector<std::int32_t>, int> seen;
  std::vector<Progress> points;
  std::vector<std::vector<std::vector<std::int64_t>>> steps;
  double before = 0;
  while (progress.epoch == 0) {
    points.push_back(progress);
    steps.push_back(plan.next(3, progress, [] { return false; }));
    EXPECT_LE(steps.back().size(), 3u);
    for (const auto& batch : steps.back()) {
      for (const std::int64_t pair : batch) {
        const auto ids = plan.corpus().source(pair);
        ++seen[std::vector<std::int32_t>(ids.begin(), ids.end() - 1)];
      }
    }
    EXPECT_GT(plan.epochs(progress), before);
    before = plan.epochs(progress);
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(plan.epochs(progress), 1);
  for (const std::size_t i : {std::size_t{1}, steps.size() / 2, steps.size() - 1}) {
    StreamedCorpus again = streamed({{folder_ / "a.tsv", 1}}, 512);
    EpochPlan other(again, options_.batches);
    Progress point = points[i];
    EXPECT_EQ(other.next(3, point, [] { return false; }), steps[i]);
  }
}

TEST_F(Texts, AStreamedRunThatIsStoppedIsTheWholeRun) {
  const auto file = write_tsv("a.tsv", letter_pairs(700, 2, 4, false, 3));
  options_.batches.tokens = 400;  // a few batches a part, so that 8 steps pass its end
  options_.stream_pairs = 300;
  StreamedCorpus source = streamed({{file, 1}}, 300);
  ASSERT_EQ(source.parts(0), 3);
  call("whole", source);
  for (const std::int64_t stop : {1, 3, 5}) {
    const std::string name = fmt::format("stop{}", stop);
    StreamedCorpus first = streamed({{file, 1}}, 300);
    EXPECT_TRUE(call(name, first, stop).interrupted);
    StreamedCorpus second = streamed({{file, 1}}, 300);
    EXPECT_EQ(call(name, second).steps, 8);
    EXPECT_TRUE(bytes(name, "model.safetensors") == bytes("whole", "model.safetensors")) << stop;
  }
  const formats::SafeTensorsFile checkpoint(folder_ / "whole" / "checkpoint.safetensors");
  const nlohmann::json progress = nlohmann::json::parse(checkpoint.metadata().at("progress"));
  EXPECT_GT(progress["part"].get<int>() + 3 * progress["epoch"].get<int>(), 0);
  write_tsv("a.tsv", letter_pairs(700, 2, 4, false, 9));
  StreamedCorpus other = streamed({{file, 1}}, 300);
  try {
    call("stop1", other);
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("other texts"));
  }
}

// Weights 3 and 0: four pairs three times each and none of the others, in batches of 6.
TEST_F(Texts, WeightsOfPairsCountInTheEpoch) {
  std::vector<data::SentencePair> pairs = letter_pairs(8, 3, 3, false, 3);
  for (std::size_t i = 0; i < 8; ++i) pairs[i].weight = i < 4 ? 3 : 0;
  const EncodedCorpus corpus(pairs, tokenizer_, tokenizer_, 0);
  ASSERT_EQ(corpus.weights().size(), 8u);
  WholeCorpus source(corpus);
  EpochPlan plan(source, {.tokens = 24, .pool = 1, .seed = 1});
  Progress progress;
  std::map<std::int64_t, int> seen;
  while (progress.epoch == 0) {
    for (const auto& batch : plan.next(1, progress, [] { return false; })) {
      for (const std::int64_t pair : batch) ++seen[pair];
    }
  }
  EXPECT_EQ(seen, (std::map<std::int64_t, int>{{0, 3}, {1, 3}, {2, 3}, {3, 3}}));
  const std::uint64_t before = corpus.fingerprint();
  pairs[2].weight = 2;
  EXPECT_NE(EncodedCorpus(pairs, tokenizer_, tokenizer_, 0).fingerprint(), before);
  for (data::SentencePair& pair : pairs) pair.weight = 1;
  EXPECT_TRUE(EncodedCorpus(pairs, tokenizer_, tokenizer_, 0).weights().empty());
}

TEST_F(Texts, WordsAreCutAnewAsAFunctionOfSeedStepAndLine) {
  std::vector<data::SentencePair> pairs;
  for (const char* text : {"der alte Baum", "ein alter Hund", "die alte Stadt", "der alte Hund"}) {
    pairs.push_back({.source = text, .target = text, .document = {}});
  }
  std::vector<std::string> lines;
  for (const data::SentencePair& pair : pairs) lines.push_back(pair.source);
  text::TokenizerTraining training;
  training.size = 300;
  training.size_is_limit = true;
  training.threads = 1;
  const text::Tokenizer pieces(text::train_tokenizer(lines, training));
  EncodedCorpus corpus(pairs, pieces, pieces, 0);
  const std::vector<std::int64_t> all = {0, 1, 2, 3};
  const nn::Batch usual = corpus.batch(all);
  EXPECT_EQ(corpus.batch(all, 7).source.ids, usual.source.ids);  // nothing is drawn unless it is asked for
  corpus.sample(sampling_of(pieces, pieces, 0.1, 1));
  EXPECT_EQ(corpus.batch(all).source.ids, usual.source.ids);
  const nn::Batch cut = corpus.batch(all, 7);
  EXPECT_NE(cut.source.ids, usual.source.ids);
  EXPECT_NE(cut.source.ids, cut.target.ids);  // each side by itself
  EXPECT_EQ(corpus.batch(all, 7).source.ids, cut.source.ids);
  EXPECT_NE(corpus.batch(all, 8).source.ids, cut.source.ids);
  const std::vector<std::int64_t> one = {2};  // whatever else is in the batch
  const auto begin = cut.source.ids.begin() + cut.source.sentences.begin(2);
  const auto end = cut.source.ids.begin() + cut.source.sentences.end(2);
  EXPECT_EQ(corpus.batch(one, 7).source.ids, std::vector<std::int32_t>(begin, end));
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto from = static_cast<std::size_t>(cut.target.sentences.begin(i));
    const auto length = static_cast<std::size_t>(cut.target.sentences.length(i));
    const std::span<const std::int32_t> ids = std::span(cut.target.ids).subspan(from, length);
    EXPECT_EQ(pieces.decode(ids), pairs[static_cast<std::size_t>(i)].target);
    EXPECT_EQ(ids.back(), pieces.eos());
  }
  corpus.sample(sampling_of(pieces, pieces, 0.1, 2));
  EXPECT_NE(corpus.batch(all, 7).source.ids, cut.source.ids);
}

TEST_F(Texts, FrozenPartsStayAndDoNotCountInTheNorm) {
  const EncodedCorpus corpus(letter_pairs(40, 2, 6, false, 3), tokenizer_, tokenizer_, 0);
  WholeCorpus source(corpus);
  options_.optimizer.adam.decay = 0.1;
  options_.freeze = {"encoder.*", "embedding"};
  call("frozen", source);
  const formats::Model trained = formats::load_model(folder_ / "frozen" / "model.safetensors");
  const formats::Model start = new_model(small_config(16, 1, 0.1), tokenizer_);
  for (const autograd::ParameterPtr& parameter : trained.transformer->parameters().list()) {
    const autograd::ParameterPtr before = start.transformer->parameters().find(parameter->name);
    const bool same = std::ranges::equal(parameter->value.data<float>(), before->value.data<float>());
    const bool frozen = parameter->name == "embedding" || parameter->name.starts_with("encoder.");
    // A key's bias shifts all scores of a query alike: its gradient is rounding, and may be nothing at all.
    if (!parameter->name.ends_with("key.bias")) {
      EXPECT_EQ(same, frozen) << parameter->name;
    }
  }
  const double frozen_norm = metrics_of(folder_ / "frozen" / "metrics.jsonl")[0]["gradient_norm"];
  options_.freeze = {};
  call("free", source);
  EXPECT_LT(frozen_norm, metrics_of(folder_ / "free" / "metrics.jsonl")[0]["gradient_norm"].get<double>());
  options_.freeze = {"coder.*"};
  EXPECT_THROW(call("none", source), base::Error);
}

}  // namespace
}  // namespace zhuyi::train
