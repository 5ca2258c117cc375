// zhuyi report from outside: curves, table and translations of runs whose metrics are written by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <pugixml.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.h"

namespace zhuyi::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two lines of training and two validations at 1 and 3 million tokens.
std::string metrics(double shift) {
  std::ostringstream out;
  for (const int i : {1, 3}) {
    out << R"({"step":)" << 100 * i << R"(,"loss":)" << 7 - i + shift << R"(,"nll":3,"learning_rate":0.001,)"
        << R"("gradient_norm":1.5,"target_tokens":)" << i << R"(000000,"target_tokens_per_second":)" << 800 + i
        << R"(,"seconds":)" << 60 * i << "}\n";
    out << R"({"step":)" << 100 * i << R"(,"valid_nll":)" << 5 - i + shift << R"(,"bleu":)" << 10 * i << R"(,"chrf":)"
        << 8 * i << R"(,"translated":2,"target_tokens":)" << i << R"(000000,"seconds":)" << 60 * i + 5
        << R"(,"samples":[{"source":"a <b>","reference":"甲 & 乙","translation":"try )" << i << "\"}]}\n";
  }
  out << R"({"step":300,"skipped":1,"lines":[4]})"
      << "\n";
  out << R"({"step":300,"averaged_snapshots":2,"valid_nll":1.5,"bleu":99,"chrf":99})"
      << "\n";
  return out.str();
}

class Report : public ::testing::Test {
 protected:
  void write_run(const std::string& name, double shift, const std::string& options) {
    std::filesystem::create_directories(folder_.file(name));
    folder_.write(name + "/metrics.jsonl", metrics(shift));
    folder_.write(name + "/config.toml", options);
  }
  // The page as XML.
  pugi::xml_document page(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"report", "-o", folder_.file("report.html")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_zhuyi(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, folder_.file("report.html") + "\n");
    pugi::xml_document document;
    const auto result = document.load_file(folder_.file("report.html").c_str(), pugi::parse_full);
    EXPECT_TRUE(result) << result.description();
    return document;
  }
  // The points of the n-th curve of the chart with this title.
  static std::vector<std::pair<double, double>> curve(const pugi::xml_document& page, const std::string& title, int n) {
    std::vector<std::pair<double, double>> points;
    for (const auto& found : page.select_nodes("//svg")) {
      if (found.node().child("title").text().get() != title) continue;
      const auto curves = found.node().select_nodes(".//polyline");
      std::istringstream text(curves[static_cast<std::size_t>(n)].node().attribute("points").value());
      for (std::string point; text >> point;) {
        const std::size_t comma = point.find(',');
        points.emplace_back(std::stod(point.substr(0, comma)), std::stod(point.substr(comma + 1)));
      }
    }
    return points;
  }

  TemporaryFolder folder_;
};

TEST_F(Report, ComparesRuns) {
  write_run("first", 0, "optimizer = \"adam\"\nseed = 1\n");
  write_run("second", 0.5, "optimizer = \"muon\"\nseed = 1\ntrain = [\"a\", \"b:2\"]\n");
  const pugi::xml_document document = page({folder_.file("first"), folder_.file("second") + "/"});
  EXPECT_EQ(document.select_nodes("//svg").size(), 7u);
  const auto rows = document.select_nodes("//table[@class='runs']/tr");
  ASSERT_EQ(rows.size(), 3u);
  std::vector<std::string> cells;
  for (const auto& cell : rows[2].node().children("td")) cells.emplace_back(cell.text().get());
  // The mean of snapshots is no validation of the curve: the best nll is 5 - 3 + 0.5, the best BLEU 30.
  EXPECT_EQ(cells, (std::vector<std::string>{"second", "300", "3.00 M", "3.1", "803", "2.500", "30.0", "24.0"}));

  // nll 4 and 2 against 4.5 and 2.5, at 1 and 3 million tokens: on one scale, y downwards.
  const std::string title = "Validation loss (nll a token)";
  const auto first = curve(document, title, 0);
  const auto second = curve(document, title, 1);
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(first[0].first, second[0].first);
  EXPECT_GT(first[1].first, first[0].first);
  const double unit = (first[1].second - first[0].second) / 2;  // of one nll
  EXPECT_GT(unit, 0);
  EXPECT_NEAR(first[0].second - second[0].second, unit / 2, 0.02);
  // What differs: the optimiser, not the seed.
  const auto options = document.select_nodes("//table[@class='options']/tr/td[1]");
  ASSERT_EQ(options.size(), 2u);
  EXPECT_STREQ(options[0].node().text().get(), "optimizer");
  EXPECT_STREQ(document.select_node("//table[@class='options']/tr[3]/td[3]").node().text().get(), "a, b:2");
  // The sentence once, with both translations of both runs.
  EXPECT_EQ(document.select_nodes("//div[@class='sample']").size(), 1u);
  EXPECT_STREQ(document.select_node("//td[@class='text source']").node().text().get(), "a <b>");
  EXPECT_STREQ(document.select_node("//td[@class='text reference']").node().text().get(), "甲 & 乙");
  EXPECT_EQ(document.select_nodes("//td[text()='try 1']").size(), 2u);
  EXPECT_THAT(content_of(folder_.file("report.html")), Not(HasSubstr("<script")));
}

TEST_F(Report, TheAxisCanBeTime) {
  write_run("run", 0, "");
  const auto by_tokens = page({folder_.file("run")});
  const auto by_minutes = page({folder_.file("run"), "--axis", "minutes"});
  const std::string label = "//text[text()='minutes']";
  EXPECT_EQ(by_tokens.select_nodes(label.c_str()).size(), 0u);
  EXPECT_EQ(by_minutes.select_nodes(label.c_str()).size(), 7u);
}

TEST_F(Report, SaysWhatItCannotRead) {
  EXPECT_EQ(run_zhuyi({"report", folder_.file("none")}).exit_code, 3);
  std::filesystem::create_directories(folder_.file("run"));
  folder_.write("run/metrics.jsonl", "{\"step\": 1, \"loss\": 2}\n{\"ste");
  const Outcome outcome = run_zhuyi({"report", folder_.file("run"), "-o", folder_.file("report.html")});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("line 2"));
  EXPECT_EQ(run_zhuyi({"report", folder_.file("run"), "--axis", "words"}).exit_code, 2);
}

}  // namespace
}  // namespace zhuyi::testing
