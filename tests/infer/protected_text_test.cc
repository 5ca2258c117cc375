// What is taken for a placeholder, a tag or an address, and what is not.

#include "infer/protected_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zhuyi::infer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> spans(std::string_view text) { return texts_of(text, protected_spans(text)); }

TEST(ProtectedText, Placeholders) {
  EXPECT_THAT(spans("%s of %1$s, %-5.2f%% and %(name)s or %lu"),
              ElementsAre("%s", "%1$s", "%-5.2f", "%%", "%(name)s", "%lu"));
  EXPECT_THAT(spans("{0} {name} ${HOME} {{user}} {} $[officename] $(ARG1) {0:d}"),
              ElementsAre("{0}", "{name}", "${HOME}", "{{user}}", "{}", "$[officename]", "$(ARG1)", "{0:d}"));
  EXPECT_THAT(spans("%PATH% in %PRODUCTNAME"), ElementsAre("%PATH%", "%PRODUCTNAME"));
  EXPECT_THAT(spans("文件%s已{0}"), ElementsAre("%s", "{0}"));
}

TEST(ProtectedText, TagsAndReferences) {
  EXPECT_THAT(spans("<b>bold</b> <a href=\"x?y=1\">link</a><br/> &amp; &#8230; <item-1>"),
              ElementsAre("<b>", "</b>", "<a href=\"x?y=1\">", "</a>", "<br/>", "&amp;", "&#8230;", "<item-1>"));
}

TEST(ProtectedText, Addresses) {
  EXPECT_THAT(spans("See https://a.b/c?d=e&f=%20#g, or (http://x.org/). Write to a.b+c@example.com."),
              ElementsAre("https://a.b/c?d=e&f=%20#g", "http://x.org/", "a.b+c@example.com"));
  EXPECT_THAT(spans("www.example.org。mailto:x@y.zz"), ElementsAre("www.example.org", "mailto:x@y.zz"));
}

TEST(ProtectedText, ProseIsNot) {
  for (const char* text :
       {"50% of it", "50 % done", "100%dog", "a < b and c > d", "if a<b then", "AT&T; no", "x @ y", "me@home",
        "{ a, b }", "the set {a, b}", "$5 (five)", "www. and http://", "5%", "%", "{", "<", "&"}) {
    EXPECT_THAT(spans(text), IsEmpty()) << text;
  }
}

TEST(ProtectedText, WithoutALetterThereIsNothingToTranslate) {
  for (const char* text : {"3.14%", "€18.10", "1,000", "- - -", "…", "😀 👍🏽", "%1$s {0} https://a.b/c?d=e",
                           "<b>5</b>", "2026-11-30 12:00", "。！"}) {
    EXPECT_TRUE(untranslatable(text)) << text;
  }
  for (const char* text : {"a", "否", "5 km", "é", "Ж", "한", "%s of %s", "<b>x</b>", "1\x01", "\t-"}) {
    EXPECT_FALSE(untranslatable(text)) << text;
  }
}

TEST(ProtectedText, ScriptsThatAModelHasNotLearntAreNotTranslated) {
  const std::vector<std::string> latin = {"Latn"};
  for (const char* text :
       {"请打开文件并选择单元格。", "𠮷", "Жук 42", "한국어 https://example.org/page", "ー", "3.14%"}) {
    EXPECT_TRUE(untranslatable(text, latin)) << text;
  }
  for (const char* text : {"打开 file", "é", "否 x", "한국어\x01"}) EXPECT_FALSE(untranslatable(text, latin)) << text;
  const std::vector<std::string> both = {"Hani", "Latn"};
  EXPECT_FALSE(untranslatable("请打开文件", both));
  EXPECT_TRUE(untranslatable("Жук", both));
}

TEST(ProtectedText, TextsAreSortedWithTheirNumber) {
  EXPECT_THAT(protected_texts("%s {0} %s"), ElementsAre("%s", "%s", "{0}"));
  EXPECT_EQ(protected_texts("<b>x</b>"), protected_texts("</b>甲<b>"));
  EXPECT_NE(protected_texts("%s %s"), protected_texts("%s"));
}

}  // namespace
}  // namespace zhuyi::infer
