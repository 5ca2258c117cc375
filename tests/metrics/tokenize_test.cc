#include "metrics/tokenize.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "golden.h"

namespace zhuyi::metrics {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kNames[] = {"13a", "zh", "char", "intl", "none"};

std::string joined(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += (text.empty() ? "" : " ") + token;
  return text;
}

TEST(Tokenize, EqualsSacrebleuOnEverySentenceOfTheGoldenFile) {
  const nlohmann::json file = golden();
  ASSERT_GE(file.at("cases").size(), 16u);
  for (const nlohmann::json& one : file.at("cases")) {
    const std::vector<std::string> hypotheses = strings(one.at("hypotheses"));
    for (const char* name : kNames) {
      for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        EXPECT_EQ(joined(tokenize(hypotheses[i], tokenization_named(name))),
                  one.at("bleu").at(name).at("hypothesis_tokens").at(i).get<std::string>())
            << one.at("name") << ", " << name;
      }
    }
  }
}

TEST(Tokenize, EqualsSacrebleuOnEachMarkBetweenAllNeighbours) {
  const nlohmann::json file = golden();
  ASSERT_GE(file.at("characters").size(), 8u);
  for (const nlohmann::json& line : file.at("characters")) {
    for (const char* name : kNames) {
      EXPECT_EQ(joined(tokenize(line.at("text").get<std::string>(), tokenization_named(name))),
                line.at(name).get<std::string>())
          << name;
    }
  }
}

// Worked out by hand from the rules of mteval-v13a and mteval-v14.
TEST(Tokenize, FollowsTheRulesOfTheNistScripts) {
  EXPECT_THAT(tokenize("1,000.5% (isn't)", Tokenization::mteval_13a), ElementsAre("1,000.5", "%", "(", "isn't", ")"));
  EXPECT_THAT(tokenize("In 1999-2000.", Tokenization::mteval_13a), ElementsAre("In", "1999", "-", "2000", "."));
  EXPECT_THAT(tokenize("In 1999-2000.", Tokenization::international), ElementsAre("In", "1999-2000."));
  EXPECT_THAT(tokenize("共5,000人。", Tokenization::zh), ElementsAre("共", "5,000", "人", "。"));
  EXPECT_THAT(tokenize("a 好", Tokenization::character), ElementsAre("a", "好"));
  EXPECT_THAT(tokenize("共5,000人。", Tokenization::none), ElementsAre("共5,000人。"));
}

TEST(Tokenize, CountsIllFormedUtf8AsReplacementCharacters) {
  EXPECT_THAT(tokenize("a\xff"
                       "b",
                       Tokenization::character),
              ElementsAre("a", "\xef\xbf\xbd", "b"));
  EXPECT_THAT(tokenize("\xe4\xbd", Tokenization::mteval_13a), ElementsAre("\xef\xbf\xbd"));
}

TEST(Tokenize, GivesNoTokenForBlankText) {
  for (const char* name : kNames) {
    EXPECT_THAT(tokenize("", tokenization_named(name)), IsEmpty());
    EXPECT_THAT(tokenize(" \t\n\u3000\u00a0", tokenization_named(name)), IsEmpty());
  }
}

TEST(Tokenize, KnowsFiveNamesAndNamesThemInTheError) {
  for (const char* name : kNames) EXPECT_EQ(tokenization_name(tokenization_named(name)), name);
  try {
    tokenization_named("ja-mecab");
    FAIL() << "no error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::invalid_argument);
    EXPECT_THAT(error.message(),
                testing::AllOf(testing::HasSubstr("'ja-mecab'"), testing::HasSubstr("13a, zh, char, intl or none")));
  }
}

TEST(DefaultTokenization, IsZhForTextThatIsMostlyHan) {
  const auto chosen = [](std::vector<std::string> references) { return default_tokenization(references); };
  EXPECT_EQ(chosen({"今天下雨。", "OK"}), Tokenization::zh);
  // Ten Han characters, three Latin words of 24 letters.
  EXPECT_EQ(chosen({"请打开LibreOffice Writer的Formatting菜单，再选择。"}), Tokenization::zh);
  EXPECT_EQ(chosen({"The word 猫 means cat in Chinese."}), Tokenization::mteval_13a);
  EXPECT_EQ(chosen({"Это предложение"}), Tokenization::mteval_13a);
  EXPECT_EQ(chosen({"", "123 ... 😀"}), Tokenization::mteval_13a);
  EXPECT_EQ(chosen({}), Tokenization::mteval_13a);
}

}  // namespace
}  // namespace zhuyi::metrics
