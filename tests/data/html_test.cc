// Web pages: blocks, entities, alternatives, pages that are not well-formed, and the joining of two languages.

#include "data/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "temporary_folder.h"

namespace zhuyi::data {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::string fold(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (!space) result += c;
    if (space && !result.empty() && result.back() != ' ') result += ' ';
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

// Tag and text of the blocks that have text.
std::vector<std::pair<std::string, std::string>> texts(std::string_view page) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const HtmlBlock& block : html_blocks(page)) {
    if (!fold(block.text).empty()) result.emplace_back(block.tag, fold(block.text));
  }
  return result;
}

TEST(HtmlBlocks, GivesTextWithoutInlineTags) {
  EXPECT_THAT(
      texts("<h1 id='a'>Fonts</h1>\n<p>Choose <span class=\"x > y\">Tools - <b>Options</b></span>&nbsp;now.<br>Or "
            "not.</p><ul><li>One<ul><li>Two</li></ul>three</li></ul>"),
      ElementsAre(Pair("h1", "Fonts"), Pair("p", "Choose Tools - Options\u00a0now. Or not."), Pair("li", "One three"),
                  Pair("li", "Two")));
}

TEST(HtmlBlocks, KeepsIdsAndEmptyBlocks) {
  const std::vector<HtmlBlock> blocks = html_blocks("<TD><P ID=\"par_1\" class=a><img src='x.png'></P></TD>");
  ASSERT_EQ(blocks.size(), 3u);  // the first is what stands outside of all
  EXPECT_EQ(blocks[1].tag, "td");
  EXPECT_EQ(blocks[2].tag, "p");
  EXPECT_EQ(blocks[2].id, "par_1");
  EXPECT_EQ(blocks[2].text, "");
}

TEST(HtmlBlocks, LeavesOutWhatIsNoText) {
  EXPECT_THAT(texts("<!DOCTYPE html><!-- <p>no</p> --><script>if (a<b) x='</p><p>no';</script><style>p{}</style>"
                    "<nav><nav>no</nav>no</nav><pre>no <b>no</b></pre><footer><p>no</p></footer><p>yes</p>"),
              ElementsAre(Pair("p", "yes")));
}

TEST(HtmlBlocks, ReadsOneOfSeveralHiddenAlternatives) {
  EXPECT_THAT(texts("<p>Press <span class='switch'><span hidden='true' class='MAC'>Command <i>x</i></span> "
                    "<span hidden='true'>Ctrl</span></span>+A and <span hidden>stop</span>.</p>"),
              ElementsAre(Pair("p", "Press Ctrl+A and stop.")));
}

TEST(HtmlBlocks, BearsPagesThatAreNotWellFormed) {
  EXPECT_THAT(texts("<p>one<p>two</b></i><div>three</p>four</div> if a < b & c <"),
              ElementsAre(Pair("", "if a < b & c <"), Pair("p", "one"), Pair("p", "two"), Pair("div", "threefour")));
  EXPECT_THAT(texts("<p>open <b"), ElementsAre(Pair("p", "open")));
  EXPECT_THAT(texts("<p>x<a href='unended"), ElementsAre(Pair("p", "x")));
  EXPECT_THAT(texts("<p>x<!-- unended"), ElementsAre(Pair("p", "x")));
  EXPECT_THAT(texts("<p>x<script>unended"), ElementsAre(Pair("p", "x")));
}

TEST(HtmlBlocks, IsQuickOnDeepPages) {
  std::string page;
  for (int i = 0; i < 200000; ++i) page += "<div><i>";
  page += "deep";
  for (int i = 0; i < 200000; ++i) page += "</b></q>";
  const std::vector<HtmlBlock> blocks = html_blocks(page);
  EXPECT_EQ(blocks.size(), 200001u);
  EXPECT_EQ(blocks.back().text, "deep");
}

TEST(Entities, AreDecoded) {
  EXPECT_EQ(decode_entities("a &lt; b &amp;&amp; c &gt; d"), "a < b && c > d");
  EXPECT_EQ(decode_entities("&#20320;&#x597D;&hellip;&rarr;&eacute;"), "你好…→é");
  EXPECT_EQ(decode_entities("&amp;lt;"), "&lt;");  // once only
  for (const char* text : {"&unknown;", "AT&T", "&", "&;", "&#;", "&#x;", "&#xd800;", "&#1114112;", "&#0;", "& lt;",
                           "&#99999999999999999999;", "&#12a;"}) {
    EXPECT_EQ(decode_entities(text), text);
  }
}

TEST(Formatting, IsTakenOutOfMessages) {
  EXPECT_EQ(without_formatting("<b>Note</b>: 1 &lt; 2"), "Note: 1 < 2");
  EXPECT_EQ(without_formatting("<span size='large'>Big</span><br/>x"), "Big x");
  EXPECT_EQ(without_formatting("git add <path>... [<commit>]"), "git add <path>... [<commit>]");
  EXPECT_EQ(without_formatting("a < b and c > d"), "a < b and c > d");
  EXPECT_EQ(without_formatting("&Open <b"), "&Open <b");
}

class HtmlFolders : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& english, const std::string& chinese) {
    for (const auto& [side, page] : {std::pair("en", english), std::pair("zh", chinese)}) {
      if (page.empty()) continue;
      base::create_directories((folder_ / (side + std::string("/") + path)).parent_path());
      base::write_file(folder_ / (side + std::string("/") + path), page);
    }
  }
  HtmlPairs read() const { return read_html(folder_ / "en", folder_ / "zh"); }

  TemporaryFolder folder_;
};

TEST_F(HtmlFolders, JoinsElementByElement) {
  put("b/two.html", "<h1>Two</h1><p><img></p><p>More <b>text</b></p>", "<h1>二</h1><p></p><p>更多<i>文字</i></p>");
  put("a.html", "<p>One</p>", "<p>一</p>");
  const HtmlPairs result = read();
  EXPECT_EQ(result.files, 2);
  EXPECT_EQ(result.differing + result.by_id + result.unmatched, 0);
  ASSERT_EQ(result.pairs.size(), 3u);
  EXPECT_EQ(result.pairs[0].source, "One");
  EXPECT_EQ(result.pairs[0].target, "一");
  EXPECT_EQ(result.pairs[0].document, "a.html");
  EXPECT_EQ(fold(result.pairs[2].source), "More text");
  EXPECT_EQ(fold(result.pairs[2].target), "更多文字");
  EXPECT_EQ(result.pairs[2].document, "b/two.html");
}

TEST_F(HtmlFolders, JoinsByIdWhereTheOrderDiffers) {
  put("list.html", "<p id=a>Apple</p><p id=p>Pear</p><p>no id</p><p id=d>twice</p><p id=d>twice</p><p id=e>Fig</p>",
      "<p id=p>梨</p><p id=a>苹果</p><p>没有</p><p id=d>二</p><p id=e>无花果</p>");
  const HtmlPairs result = read();
  EXPECT_EQ(result.by_id, 1);
  ASSERT_EQ(result.pairs.size(), 3u);
  EXPECT_EQ(result.pairs[0].source, "Apple");
  EXPECT_EQ(result.pairs[0].target, "苹果");
  EXPECT_EQ(result.pairs[1].target, "梨");
  EXPECT_EQ(result.pairs[2].target, "无花果");
}

TEST_F(HtmlFolders, LeavesOutAndCountsOtherPages) {
  put("same.html", "<p>x</p>", "<p>y</p>");
  put("more.html", "<p>x</p>", "<p>y</p><p>z</p>");
  put("few_ids.html", "<p id=a>x</p><p>x</p><p>x</p>", "<p id=a>x</p><h2>x</h2><p>x</p>");
  put("alone.html", "<p>x</p>", "");
  const HtmlPairs result = read();
  EXPECT_EQ(result.files, 3);
  EXPECT_EQ(result.differing, 2);
  EXPECT_EQ(result.unmatched, 1);
  EXPECT_EQ(result.pairs.size(), 1u);
}

TEST_F(HtmlFolders, RefusesFoldersWithoutCommonPages) {
  put("a.html", "<p>x</p>", "");
  put("b.html", "", "<p>x</p>");
  EXPECT_THROW(read(), base::Error);
  EXPECT_THROW(read_html(folder_ / "missing", folder_ / "zh"), base::Error);
}

}  // namespace
}  // namespace zhuyi::data
