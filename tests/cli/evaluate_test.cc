// zhuyi evaluate from outside: scores by hand, as lines and as JSON, and files that do not fit.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/program.h"

namespace zhuyi::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kReference = "the cat sat on a mat\n";
constexpr const char* kHypothesis = "the cat sat on the mat\n";

TEST(EvaluateCommand, GivesTheBleuThatIsCalculatedByHand) {
  const TemporaryFolder folder;
  const std::string reference = folder.write("reference", kReference);
  const Outcome outcome = run_zhuyi({"evaluate", reference, "--json"}, kHypothesis);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json object = nlohmann::json::parse(outcome.out);
  // Of 6 words 5 stand in the reference, of 5 pairs 3, of 4 triples 2, of 3 fours 1; lengths are equal.
  EXPECT_NEAR(object["BLEU"]["score"].get<double>(), 100 * std::pow(5.0 / 6 * 3 / 5 * 2 / 4 * 1 / 3, 0.25), 1e-9);
  EXPECT_EQ(object["BLEU"]["matches"], (std::vector<int>{5, 3, 2, 1}));
  EXPECT_EQ(object["BLEU"]["totals"], (std::vector<int>{6, 5, 4, 3}));
  EXPECT_EQ(object["BLEU"]["brevity_penalty"], 1);
  EXPECT_THAT(object["BLEU"]["signature"].get<std::string>(), HasSubstr("tok:13a"));
  EXPECT_EQ(object["sentences"], 1);
}

TEST(EvaluateCommand, PrintsOneDecimalAndMoreOnRequest) {
  const TemporaryFolder folder;
  const std::string reference = folder.write("reference", kReference);
  const std::string hypothesis = folder.write("hypothesis", kHypothesis);
  EXPECT_THAT(run_zhuyi({"evaluate", reference, hypothesis}).out,
              AllOf(HasSubstr("BLEU"), HasSubstr(" = 53.7 "), HasSubstr("chrF2")));
  EXPECT_THAT(run_zhuyi({"evaluate", reference, hypothesis, "--width", "4"}).out, HasSubstr(" = 53.7285 "));
  const Outcome same = run_zhuyi({"evaluate", reference, reference, "--metric", "bleu"});
  EXPECT_THAT(same.out, HasSubstr(" = 100.0 "));
  EXPECT_THAT(same.out, ::testing::Not(HasSubstr("chrF")));
}

TEST(EvaluateCommand, CountsCharactersWhereTheReferenceIsChinese) {
  const TemporaryFolder folder;
  const std::string chinese = folder.write("chinese", "文件已打开。\n");
  EXPECT_THAT(run_zhuyi({"evaluate", chinese, chinese}).out, AllOf(HasSubstr("tok:zh"), HasSubstr(" = 100.0 ")));
}

TEST(EvaluateCommand, RefusesFilesThatDoNotBelongTogether) {
  const TemporaryFolder folder;
  const std::string reference = folder.write("reference", kReference);
  const Outcome lines = run_zhuyi({"evaluate", reference}, "one\ntwo\n");
  EXPECT_EQ(lines.exit_code, 3);
  EXPECT_THAT(lines.err, AllOf(HasSubstr("has 1 lines"), HasSubstr("has 2")));
  const Outcome bytes = run_zhuyi({"evaluate", reference}, "bad \xFF\n");
  EXPECT_EQ(bytes.exit_code, 3);
  EXPECT_THAT(bytes.err, HasSubstr("line 1: not valid UTF-8"));
  EXPECT_EQ(run_zhuyi({"evaluate", folder.file("missing")}, "").exit_code, 3);
  EXPECT_EQ(run_zhuyi({"evaluate", folder.write("empty", "")}, "").exit_code, 3);
  EXPECT_EQ(run_zhuyi({"evaluate", reference, "--tokenize", "words"}, kHypothesis).exit_code, 2);
  EXPECT_EQ(run_zhuyi({"evaluate"}).exit_code, 2);
}

}  // namespace
}  // namespace zhuyi::testing
