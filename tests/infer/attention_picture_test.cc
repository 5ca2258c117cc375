// The encoder-decoder attention of one sentence: its numbers where they can be foretold, and the page it becomes.

#include "infer/attention_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pugixml.hpp>

#include "infer/small_translator.h"

namespace zhuyi::infer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two source pieces, two target pieces, one layer of two heads, numbers chosen by hand.
CrossAttention by_hand() {
  CrossAttention attention;
  attention.source = {"▁<b>&", "</s>"};
  attention.target = {"\"文\"", "</s>"};
  attention.layers = 1;
  attention.heads = 2;
  attention.weights = {0.75F, 0.25F, 1, 0, 0.25F, 0.75F, 0.5F, 0.5F};
  return attention;
}

TEST(CrossAttention, IndexesLayerHeadTargetSource) {
  const CrossAttention attention = by_hand();
  EXPECT_EQ(attention.at(0, 0, 0, 1), 0.25F);
  EXPECT_EQ(attention.at(0, 1, 0, 1), 0.75F);
  EXPECT_EQ(attention.at(0, 1, 1, 0), 0.5F);
  EXPECT_EQ(attention.mean(0, 0, 0), 0.5F);
  EXPECT_EQ(attention.mean(0, 1, 0), 0.75F);
}

TEST(CrossAttention, IsUniformExactlyInTheLayerWhoseQueriesAreZero) {
  const formats::Model model = small_model();
  for (const char* name : {"decoder.1.cross_attention.query.weight", "decoder.1.cross_attention.query.bias"}) {
    const autograd::ParameterPtr parameter = model.transformer->parameters().find(name);
    ASSERT_NE(parameter, nullptr) << name;
    parameter->value.fill(0);
  }
  const std::vector<std::int32_t> source = {10, 20, 30, model.source.eos()};
  const std::vector<std::int32_t> target = {40, 50, model.target.eos()};
  const CrossAttention attention = cross_attention(model, source, target);
  EXPECT_EQ(attention.layers, 2);
  EXPECT_EQ(attention.heads, 2);
  EXPECT_EQ(attention.source.back(), "</s>");
  EXPECT_EQ(attention.target.front(), model.target.piece(40));
  ASSERT_EQ(attention.weights.size(), 2u * 2 * 3 * 4);
  double furthest = 0;
  for (std::int64_t head = 0; head < 2; ++head) {
    for (std::int64_t t = 0; t < 3; ++t) {
      double sum = 0;
      for (std::int64_t s = 0; s < 4; ++s) {
        EXPECT_NEAR(attention.at(1, head, t, s), 0.25, 1e-6);  // softmax of equal similarities
        sum += static_cast<double>(attention.at(0, head, t, s));
        furthest = std::max(furthest, std::abs(static_cast<double>(attention.at(0, head, t, s)) - 0.25));
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  EXPECT_GT(furthest, 0.01);
}

TEST(AttentionHtml, IsOneWellFormedPageWithoutAnythingFromOutside) {
  const std::string page = attention_html(by_hand(), "a <title> & \x01");
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_string(page.c_str(), pugi::parse_default | pugi::parse_doctype);
  ASSERT_TRUE(parsed) << parsed.description() << " at " << page.substr(static_cast<std::size_t>(parsed.offset), 80);
  EXPECT_STREQ(document.select_node("//h1").node().text().get(), "a <title> & \uFFFD");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_EQ(document.select_nodes("//svg").size(), 3u);  // the mean and two heads
}

TEST(AttentionHtml, ShadesByWeightAndTellsTheNumber) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(attention_html(by_hand(), "t").c_str(), pugi::parse_default | pugi::parse_doctype));
  const pugi::xml_node large = document.select_node("//svg").node();
  std::vector<std::string> shades;
  std::vector<std::string> titles;
  for (const pugi::xml_node& cell : large.children("rect")) {
    if (!cell.child("title")) continue;
    shades.emplace_back(cell.attribute("fill-opacity").value());
    titles.emplace_back(cell.child("title").text().get());
  }
  EXPECT_THAT(shades, ::testing::ElementsAre("0.500", "0.500", "0.750", "0.250"));
  EXPECT_EQ(titles.at(0), "\"文\" ← ▁<b>&: 0.500");
  EXPECT_EQ(titles.at(3), "</s> ← </s>: 0.250");
  std::vector<std::string> labels;
  for (const pugi::xml_node& label : large.children("text")) labels.emplace_back(label.text().get());
  EXPECT_THAT(labels, ::testing::ElementsAre("▁<b>&", "</s>", "\"文\"", "</s>"));
  // A small grid leaves the cell of weight 0 out.
  EXPECT_EQ(document.select_nodes("(//svg)[2]/rect/title").size(), 3u);
}

TEST(AttentionHtml, RefusesAnEmptySentence) { EXPECT_THROW(attention_html({}, "t"), base::Error); }

}  // namespace
}  // namespace zhuyi::infer
