// Lexical shortlists: how one is counted, and that a search with one is the search over fewer pieces.

#include "infer/shortlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "infer/attention_picture.h"
#include "infer/quantize.h"
#include "infer/small_translator.h"
#include "infer/translator.h"
#include "kernels/precision.h"
#include "temporary_folder.h"

namespace zhuyi::infer {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Shortlist, IsTheUnionOverTheTokens) {
  const Shortlist shortlist({9, 2}, {{5, 3}, {}, {9, 4}});
  EXPECT_THAT(shortlist.allowed({}), ElementsAre(2, 9));
  const std::vector<std::int32_t> source = {0, 2, 0, 77};
  EXPECT_THAT(shortlist.allowed(source), ElementsAre(2, 3, 4, 5, 9));
}

std::vector<data::SentencePair> pairs() {
  const std::vector<std::string> lines = training_lines();
  std::vector<data::SentencePair> result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    result.push_back({.source = lines[i], .target = lines[(i + 4) % lines.size()], .document = {}, .line = 0});
  }
  return result;
}

TEST(Shortlist, CountsWhatTheModelAligns) {
  const formats::Model model = small_model();
  // The same with plain loops: the largest mean weight of the last layer, the end left out.
  std::map<std::int32_t, std::map<std::int32_t, int>> counts;
  for (const data::SentencePair& pair : pairs()) {
    std::vector<std::int32_t> source = model.source.encode(pair.source);
    source.push_back(model.source.eos());
    const std::vector<std::int32_t> target = model.target.encode(pair.target);
    const CrossAttention attention = cross_attention(model, source, target);
    for (std::size_t t = 0; t < target.size(); ++t) {
      std::size_t best = 0;
      for (std::size_t s = 1; s + 1 < source.size(); ++s) {
        const auto ti = static_cast<std::int64_t>(t);
        if (attention.mean(1, ti, static_cast<std::int64_t>(s)) >
            attention.mean(1, ti, static_cast<std::int64_t>(best))) {
          best = s;
        }
      }
      ++counts[source[best]][target[t]];
    }
  }
  const Shortlist found = make_shortlist(model, pairs(), {.best = 2, .frequent = 0, .longest = 256, .interrupted = {}});
  int checked = 0;
  for (const auto& [source, targets] : counts) {
    std::vector<std::pair<int, std::int32_t>> order;
    for (const auto& [target, count] : targets) order.emplace_back(-count, target);
    std::sort(order.begin(), order.end());
    const std::vector<std::int32_t> allowed = found.allowed({&source, 1});
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::int32_t target = order[i].second;
      const bool byte = model.target.piece(target).starts_with("<0x");
      if (i < 2) {
        EXPECT_THAT(allowed, Contains(target));
      } else if (!byte && model.source.piece(source) != model.target.piece(target)) {
        EXPECT_THAT(allowed, ::testing::Not(Contains(target)));
      }
      ++checked;
    }
    EXPECT_THAT(allowed, Contains(model.target.eos()));
  }
  EXPECT_GT(checked, 50);
}

TEST(Shortlist, FilesKeepIt) {
  const TemporaryFolder folder;
  const formats::Model model = small_model();
  const Shortlist shortlist = make_shortlist(model, pairs());
  shortlist.save(folder.file("list"), model);
  EXPECT_EQ(Shortlist::load(folder.file("list"), model), shortlist);
  const auto message = [&](const std::string& text) {
    try {
      Shortlist::load(folder.write("wrong", text), model);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::bad_file);
      return error.message();
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message("no tab\n"), HasSubstr("line 1: expected a source piece"));
  EXPECT_THAT(message("\t</s>\nqqqq\tx\n"), HasSubstr("line 2: the model has no source piece 'qqqq'"));
  EXPECT_THAT(message("\t</s> qqqq\n"), HasSubstr("no target piece 'qqqq'"));
  EXPECT_THAT(message("\t.\n"), HasSubstr("no translation could end"));
}

class ShortSearch : public ::testing::Test {
 protected:
  ShortSearch() : translator_(small_model()), options_(translator_.defaults()) {
    options_.search.max_length_extra = 8;
    options_.search.n_best = 2;
    options_.protect = false;
  }
  std::vector<Translation> translate(const std::vector<std::string>& lines) const {
    return translator_.translate(lines, options_);
  }

  Translator translator_;
  TranslateOptions options_;
};

TEST_F(ShortSearch, OfAllPiecesIsTheSearch) {
  const std::vector<Translation> free = translate(training_lines());
  std::vector<std::int32_t> all(static_cast<std::size_t>(translator_.model().target.size()));
  std::iota(all.begin(), all.end(), 0);
  options_.search.shortlist = std::make_shared<const Shortlist>(all, std::vector<std::vector<std::int32_t>>());
  const std::vector<Translation> listed = translate(training_lines());
  for (std::size_t i = 0; i < free.size(); ++i) {
    ASSERT_EQ(free[i].alternatives.size(), 2u);
    ASSERT_EQ(listed[i].alternatives.size(), 2u);
    for (std::size_t n = 0; n < 2; ++n) {
      EXPECT_EQ(listed[i].alternatives[n].tokens, free[i].alternatives[n].tokens);
      EXPECT_EQ(listed[i].alternatives[n].score, free[i].alternatives[n].score);
    }
  }
}

TEST_F(ShortSearch, UsesNothingElseWhateverTheBatch) {
  const auto shortlist = std::make_shared<const Shortlist>(
      make_shortlist(translator_.model(), pairs(), {.best = 3, .frequent = 5, .longest = 256, .interrupted = {}}));
  options_.search.shortlist = shortlist;
  const std::vector<std::string> lines = training_lines();
  std::vector<Translation> alone;
  for (const std::string& line : lines) {
    alone.push_back(translate({line})[0]);
    std::vector<std::int32_t> source = translator_.model().source.encode(line);
    source.push_back(translator_.model().source.eos());
    const std::vector<std::int32_t> allowed = shortlist->allowed(source);
    for (const std::int32_t token : alone.back().alternatives[0].tokens) EXPECT_THAT(allowed, Contains(token));
  }
  const int threads = base::threads();
  for (const int count : {1, 2}) {
    base::set_threads(count);
    for (const std::int64_t batch : {1, 3, 64}) {
      options_.batches.sentences = batch;
      const std::vector<Translation> together = translate(lines);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(together[i].text, alone[i].text);
        EXPECT_EQ(together[i].score, alone[i].score);
      }
    }
  }
  base::set_threads(threads);
}

TEST_F(ShortSearch, ProbabilitiesAreOverTheList) {
  const nn::Transformer& model = *translator_.model().transformer;
  const std::vector<std::vector<std::int32_t>> sources = {{5, 9, 2}, {7, 2}};
  const std::vector<std::vector<std::int32_t>> allowed = {{2, 40, 41, 300}, {2, 3, 41}};
  TransformerScorer all(model, sources);
  TransformerScorer some({{&model, 1}});
  some.join(sources, allowed);
  const std::vector<HypothesisStep> first = {{0, kNoParent, model.bos()}, {1, kNoParent, model.bos()}};
  all.step(first);
  some.step(first);
  const kernels::ConstMatrix<float> whole = all.log_probabilities(0, 2);
  const kernels::ConstMatrix<float> listed = some.log_probabilities(0, 2);
  for (std::int64_t i = 0; i < 2; ++i) {
    double sum = 0;
    const std::vector<std::int32_t>& ids = allowed[static_cast<std::size_t>(i)];
    for (const std::int32_t id : ids) sum += std::exp(static_cast<double>(whole(i, id)));
    for (std::int32_t id = 0; id < listed.columns; ++id) {
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
        EXPECT_TRUE(std::isinf(listed(i, id)));
      } else {
        EXPECT_NEAR(listed(i, id), static_cast<double>(whole(i, id)) - std::log(sum), 1e-5);
      }
    }
  }
}

// In every storage of weights, packed or not, a logit among some is the same number as among all.
TEST(QuantisedShortSearch, SomeLogitsAreThoseAmongAll) {
  const formats::Model model = small_model();
  const std::vector<std::int32_t> ids = {2, 3, 40, 41, 300};
  const std::int64_t width = model.transformer->config().d_model;
  tensor::Tensor decoded(3, width);
  for (std::int64_t i = 0; i < 3 * width; ++i) {
    decoded.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(std::sin(0.7 * static_cast<double>(i)));
  }
  for (const kernels::Precision precision :
       {kernels::Precision::f32, kernels::Precision::int8, kernels::Precision::bf16}) {
    const std::unique_ptr<nn::Transformer> quantised = quantize(*model.transformer, precision);
    for (const bool packed : {false, true}) {
      if (packed) quantised->pack();
      const nn::OutputRows outputs = quantised->output_rows(ids);
      const tensor::Tensor all = quantised->logits(decoded);
      const tensor::Tensor some = quantised->logits(decoded, &outputs);
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < ids.size(); ++j) {
          EXPECT_EQ(some.at(i, static_cast<std::int64_t>(j)), all.at(i, ids[j]))
              << kernels::name_of(precision) << (packed ? ", packed" : "");
        }
      }
    }
  }
}

TEST(QuantisedShortSearch, OfAllPiecesIsTheSearch) {
  for (const kernels::Precision precision : {kernels::Precision::int8, kernels::Precision::bf16}) {
    const Translator translator(quantize(small_model(), precision));
    TranslateOptions how = translator.defaults();
    how.search.max_length_extra = 4;
    const std::vector<Translation> free = translator.translate(training_lines(), how);
    std::vector<std::int32_t> all(static_cast<std::size_t>(translator.model().target.size()));
    std::iota(all.begin(), all.end(), 0);
    how.search.shortlist = std::make_shared<const Shortlist>(all, std::vector<std::vector<std::int32_t>>());
    const std::vector<Translation> listed = translator.translate(training_lines(), how);
    for (std::size_t i = 0; i < free.size(); ++i) EXPECT_EQ(listed[i].text, free[i].text);
  }
}

TEST_F(ShortSearch, WhatIsAskedForIsAllowed) {
  options_.search.shortlist = std::make_shared<const Shortlist>(
      std::vector<std::int32_t>{translator_.model().target.eos()}, std::vector<std::vector<std::int32_t>>());
  const std::string line = "Close the file";
  const LineOptions own{.prefix = "打开", .phrases = {{"文件"}}};
  const Translation found = translator_.translate({&line, 1}, options_, {&own, 1})[0];
  EXPECT_THAT(found.text, ::testing::StartsWith("打开"));
  EXPECT_THAT(found.text, HasSubstr("文件"));
}

}  // namespace
}  // namespace zhuyi::infer
