// zhuyi attention from outside: its numbers against closed forms, its messages, its picture.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs `zhuyi attention --json` with more arguments and gives its object.
nlohmann::json answer(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"attention", "--json"});
  const Outcome outcome = run_zhuyi(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

// The default table at waist 57: the far key's similarity is -(57 - 51)^2 / 2 = -18, that of the two near ones -1/2.
const double kFarWeight = std::exp(-18.0) / (std::exp(-18.0) + 2 * std::exp(-0.5));
const double kNearWeight = std::exp(-0.5) / (std::exp(-18.0) + 2 * std::exp(-0.5));

TEST(AttentionCommand, WeighsTheTableOfWaistsByDefault) {
  const nlohmann::json object = answer({});
  EXPECT_EQ(object["kernel"], "gaussian");
  EXPECT_EQ(object["bandwidth"], 1);
  EXPECT_EQ(object["keys"], (std::vector<double>{51, 56, 58}));
  EXPECT_EQ(object["values"], (std::vector<double>{40, 43, 48}));
  ASSERT_EQ(object["estimates"].size(), 1u);
  const nlohmann::json& estimate = object["estimates"][0];
  EXPECT_EQ(estimate["query"], 57);
  EXPECT_NEAR(estimate["weights"][0].get<double>() / kFarWeight, 1, 1e-12);
  EXPECT_NEAR(estimate["weights"][1].get<double>(), kNearWeight, 1e-14);
  EXPECT_NEAR(estimate["weights"][2].get<double>(), kNearWeight, 1e-14);
  EXPECT_NEAR(estimate["estimate"].get<double>(), 40 * kFarWeight + (43 + 48) * kNearWeight, 1e-12);
  EXPECT_EQ(estimate["mean_of_two_nearest"], 45.5);
  EXPECT_NEAR(estimate["mean_of_all"].get<double>(), 131.0 / 3, 1e-13);
}

TEST(AttentionCommand, PrintsEveryWeightAndTheEstimateBesideTheMeans) {
  const Outcome outcome = run_zhuyi({"attention"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  // e^-18 / (e^-18 + 2 e^-0.5) = 1 / (1 + 2 e^17.5) = 1 / 79649569.8 = 1.25550e-8; 45.5 - 5.5 * 1.2555e-8
  // = 45.49999993.
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("1.2554"), HasSubstr("e-08"), HasSubstr("0.499999994\n")));
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("weighted mean +45\\.4999999\n"));
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("two nearest +45\\.5\n"));
  EXPECT_THAT(outcome.out, ::testing::ContainsRegex("mean of all 3 +43\\.66"));
}

TEST(AttentionCommand, TakesSeveralQueriesWithCommasOrOneAnOption) {
  const nlohmann::json commas = answer({"--query", "51,57, 60"});
  ASSERT_EQ(commas["estimates"].size(), 3u);
  EXPECT_EQ(commas["estimates"][2]["query"], 60);
  // At 60 the distances are 9, 4, 2.
  const double far = std::exp(-40.5), middle = std::exp(-8.0), near = std::exp(-2.0);
  EXPECT_NEAR(commas["estimates"][2]["estimate"].get<double>(),
              (40 * far + 43 * middle + 48 * near) / (far + middle + near), 1e-12);
  EXPECT_EQ(commas["estimates"], answer({"--query", "51", "--query", "57", "--query", "60"})["estimates"]);
}

TEST(AttentionCommand, TakesABandwidth) {
  // Bandwidth 3: similarities -36/18, -1/18, -1/18.
  const double far = std::exp(-2.0), near = std::exp(-1.0 / 18);
  EXPECT_NEAR(answer({"--bandwidth", "3"})["estimates"][0]["estimate"].get<double>(),
              (40 * far + 91 * near) / (far + 2 * near), 1e-12);
}

TEST(AttentionCommand, HasTheModelsKernels) {
  const std::vector<std::string> vectors = {"--keys", "1:0:1:0,0:1:0:2", "--values", "10,20", "--query", "-1:1:2:0.5"};
  // q.k is 1 for the first key, 1 + 1 = 2 for the second; sqrt(d_k) = 2; squared distances 4+1+1+.25, 1+0+4+2.25.
  const auto expected = [](double first, double second) {
    return (10 * std::exp(first) + 20 * std::exp(second)) / (std::exp(first) + std::exp(second));
  };
  const auto estimate = [&](const std::string& kernel) {
    std::vector<std::string> arguments = vectors;
    arguments.insert(arguments.end(), {"--kernel", kernel});
    return answer(arguments)["estimates"][0]["estimate"].get<double>();
  };
  EXPECT_NEAR(estimate("dot"), expected(1, 2), 1e-13);
  EXPECT_NEAR(estimate("scaled-dot"), expected(0.5, 1), 1e-13);
  EXPECT_NEAR(estimate("gaussian"), expected(-6.25 / 2, -7.25 / 2), 1e-13);
}

TEST(AttentionCommand, GivesVectorsForVectors) {
  const nlohmann::json object = answer({"--keys", "0,0", "--values", "1:5,3:7", "--query", "0"});
  EXPECT_EQ(object["estimates"][0]["estimate"], (std::vector<double>{2, 6}));
  EXPECT_EQ(object["values"][1], (std::vector<double>{3, 7}));
}

TEST(AttentionCommand, KeepsItsDigitsWhereKeysAreLargeAndClose) {
  // The default table, moved by a number that doubles hold exactly.
  const nlohmann::json moved =
      answer({"--keys", "1000000051,1000000056,1000000058", "--query", "1000000057"})["estimates"][0];
  EXPECT_NEAR(moved["weights"][0].get<double>() / kFarWeight, 1, 1e-12);
}

TEST(AttentionCommand, TakesNegativeNumbersAndOneKey) {
  const nlohmann::json object = answer({"--keys", "-3", "--values", "-1e2", "--query", "-4"});
  EXPECT_EQ(object["estimates"][0]["weights"], (std::vector<double>{1}));
  EXPECT_EQ(object["estimates"][0]["estimate"], -100);
}

TEST(AttentionCommand, ReadsItsOptionsFromAConfigurationFile) {
  const TemporaryFolder folder;
  const std::string config = folder.write(
      "options.toml", "[attention]\nkeys = [51, 56.5]\nvalues = \"1,2\"\nquery = 56.5\nkernel = \"dot\"\n");
  const nlohmann::json object = answer({"--config", config});
  EXPECT_EQ(object["keys"], (std::vector<double>{51, 56.5}));
  EXPECT_EQ(object["values"], (std::vector<double>{1, 2}));
  EXPECT_EQ(object["kernel"], "dot");
}

struct Refusal {
  std::vector<std::string> arguments;
  std::string message;  // a part of it
};

TEST(AttentionCommand, RefusesWhatCannotBe) {
  const std::vector<Refusal> refusals = {
      {{"--keys", "1,2"}, "2 keys and 3 values"},
      {{"--keys", ""}, "--keys: no numbers"},
      {{"--query", " "}, "--query: no numbers"},
      {{"--keys", "1,two,3"}, "--keys: 'two' is not a number"},
      {{"--keys", "1,,3"}, "--keys: '' is not a number"},
      {{"--query", "nan"}, "'nan' is not a number"},
      {{"--query", "57cm"}, "'57cm' is not a number"},
      {{"--query", "1e999"}, "'1e999' is not a number"},
      {{"--query", "1:2"}, "keys of 1 numbers and queries of 2"},
      {{"--keys", "1:2,3,4"}, "'3' has 1 numbers, those before it 2"},
      {{"--bandwidth", "0"}, "--bandwidth: 0 is not a positive number"},
      {{"--bandwidth", "-1"}, "--bandwidth: -1 is not a positive number"},
      {{"--bandwidth", "nan"}, "--bandwidth"},
      {{"--bandwidth", "1e-200"}, "too large to compute with"},
      {{"--bandwidth", "2", "--kernel", "dot"}, "--bandwidth belongs to the gaussian kernel"},
      {{"--kernel", "cosine"}, "cosine"},
      {{"--kernel", "dot", "--keys", "1e200,1,2", "--query", "1e200"}, "too large to compute with"},
      {{"--keys", "1:2,3:4,5:6", "--query", "1:2", "--plot", "no.svg"}, "--plot"},
      {{"--qery", "3"}, "did you mean --query?"},
      {{"57"}, "'57' is one argument too many"},
  };
  for (const Refusal& refusal : refusals) {
    std::vector<std::string> arguments = refusal.arguments;
    arguments.insert(arguments.begin(), "attention");
    const Outcome outcome = run_zhuyi(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << refusal.message;
    EXPECT_EQ(outcome.out, "") << refusal.message;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(refusal.message), ::testing::StartsWith("zhuyi: ")));
  }
}

TEST(AttentionCommand, SaysWhereItCannotWriteAPlot) {
  const Outcome outcome = run_zhuyi({"attention", "--plot", "/nowhere/at/all/plot.svg"});
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("/nowhere/at/all"));
}

// The numbers of an SVG polyline: x,y x,y ...
std::vector<std::pair<double, double>> points_of(const pugi::xml_node& polyline) {
  std::vector<std::pair<double, double>> points;
  std::string text = polyline.attribute("points").value();
  for (char& letter : text) letter = letter == ',' ? ' ' : letter;
  std::istringstream numbers(text);
  for (double x = 0, y = 0; numbers >> x >> y;) points.emplace_back(x, y);
  return points;
}

TEST(AttentionCommand, PlotsThreeBandwidths) {
  const TemporaryFolder folder;
  const Outcome outcome = run_zhuyi({"attention", "--plot", folder.file("plot.svg"), "--bandwidth", "2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("plot.svg"));
  EXPECT_THAT(outcome.out, HasSubstr("query 57"));
  pugi::xml_document svg;
  ASSERT_TRUE(svg.load_file(folder.file("plot.svg").c_str()));
  EXPECT_STREQ(svg.document_element().name(), "svg");
  EXPECT_STREQ(svg.document_element().attribute("xmlns").value(), "http://www.w3.org/2000/svg");

  const auto curves = svg.select_nodes("//polyline[@class='curve']");
  ASSERT_EQ(curves.size(), 3u);
  const auto data = svg.select_nodes("//circle[@class='data']");
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(svg.select_nodes("//circle[@class='mark']").size(), 1u);
  for (const char* label : {"bandwidth 0.5", "bandwidth 2", "bandwidth 8"}) {
    EXPECT_EQ(svg.select_nodes(("//g[@class='legend']/text[.='" + std::string(label) + "']").c_str()).size(), 1u);
  }
  for (const char* tick : {"52", "58", "40", "48"}) {
    EXPECT_GE(svg.select_nodes(("//g[@class='ticks']/text[.='" + std::string(tick) + "']").c_str()).size(), 1u) << tick;
  }
  // The narrow curve passes through the first and the last point of the table (it copies the nearest value), the wide
  // one is far from both and between their heights.
  const auto narrow = points_of(curves[0].node());
  const auto wide = points_of(curves[2].node());
  for (const int point : {0, 2}) {
    const double x = data[static_cast<std::size_t>(point)].node().attribute("cx").as_double();
    const double y = data[static_cast<std::size_t>(point)].node().attribute("cy").as_double();
    const auto height_at = [&](const std::vector<std::pair<double, double>>& curve) {
      return std::ranges::min_element(curve, {}, [&](const auto& p) { return std::abs(p.first - x); })->second;
    };
    EXPECT_NEAR(height_at(narrow), y, 2);
    EXPECT_GT(std::abs(height_at(wide) - y), 30);
  }
}

TEST(AttentionCommand, PlotsOneCurveWhereThereIsNoBandwidth) {
  const TemporaryFolder folder;
  const Outcome outcome = run_zhuyi({"attention", "--kernel", "dot", "--keys", "-1,0,2", "--query", "0.5,1", "--plot",
                                     folder.file("plot.svg"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["estimates"].size(), 2u);
  pugi::xml_document svg;
  ASSERT_TRUE(svg.load_file(folder.file("plot.svg").c_str()));
  EXPECT_EQ(svg.select_nodes("//polyline[@class='curve']").size(), 1u);
  EXPECT_EQ(svg.select_nodes("//circle[@class='mark']").size(), 2u);
  // Not the units of a table that this is not.
  EXPECT_THAT(content_of(folder.path() / "plot.svg"), Not(HasSubstr("waist")));
}

TEST(AttentionCommand, ExplainsItsOptions) {
  const Outcome outcome = run_zhuyi({"attention", "--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("[51,56,58]"), HasSubstr("[40,43,48]"), HasSubstr("[57]"),
                                 HasSubstr("[gaussian]"), HasSubstr("--plot")));
}

}  // namespace
}  // namespace zhuyi::testing
