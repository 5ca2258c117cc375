// Line pairs and tab-separated files: line ends, columns, and errors that name the line.

#include "data/pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "temporary_folder.h"

namespace zhuyi::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_file);
    return error.message();
  }
  return "no error";
}

TEST(Pairs, JoinsLinesOfTwoFiles) {
  const TemporaryFolder folder;
  std::string english = "\xef\xbb\xbfHello\r\n\r\n";
  std::string chinese = "你好\n空\n";
  for (int i = 3; i <= 51; ++i) {
    english += "x\r\n";
    chinese += i == 51 ? "末" : "某\n";  // without an end of line
  }
  base::write_file(folder / "a.en", english);
  base::write_file(folder / "a.zh", chinese);
  const std::vector<SentencePair> pairs = read_line_pairs(folder / "a.en", folder / "a.zh");
  ASSERT_EQ(pairs.size(), 51u);
  EXPECT_EQ(pairs[0].source, "Hello");
  EXPECT_EQ(pairs[0].target, "你好");
  EXPECT_EQ(pairs[0].document, "a.en#1");
  EXPECT_EQ(pairs[1].source, "");
  EXPECT_EQ(pairs[49].document, "a.en#1");
  EXPECT_EQ(pairs[50].document, "a.en#2");
  EXPECT_EQ(pairs[50].target, "末");
  EXPECT_EQ(pairs[50].line, 51);
}

TEST(Pairs, RefusesFilesOfDifferentLength) {
  const TemporaryFolder folder;
  base::write_file(folder / "a.en", "a\nb\n");
  base::write_file(folder / "a.zh", "a\nb\nc\n");
  base::write_file(folder / "empty", "");
  EXPECT_THAT(failure([&] { read_line_pairs(folder / "a.en", folder / "a.zh"); }),
              AllOf(HasSubstr("has 2 lines"), HasSubstr("has 3")));
  EXPECT_THAT(failure([&] { read_line_pairs(folder / "empty", folder / "empty"); }), HasSubstr("empty"));
}

TEST(Tsv, ReadsTwoOrThreeColumns) {
  const TemporaryFolder folder;
  base::write_file(folder / "a.tsv", "one\t一\tbook\ntwo\t二\r\n");
  const std::vector<SentencePair> pairs = read_tsv(folder / "a.tsv");
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].document, "book");
  EXPECT_EQ(pairs[1].target, "二");
  EXPECT_EQ(pairs[1].document, "a.tsv#1");
  EXPECT_EQ(pairs[1].line, 2);
}

TEST(Tsv, TheFourthColumnIsAWeight) {
  const TemporaryFolder folder;
  base::write_file(folder / "a.tsv", "a\tb\tbook\t0.25\na\tb\t\t3\na\tb\tbook\n");
  const std::vector<SentencePair> pairs = read_tsv(folder / "a.tsv");
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].weight, 0.25);
  EXPECT_EQ(pairs[0].document, "book");
  EXPECT_EQ(pairs[1].weight, 3);
  EXPECT_EQ(pairs[1].document, "a.tsv#1");
  EXPECT_EQ(pairs[2].weight, 1);
}

TEST(Tsv, NamesTheLineOfAnError) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& content) {
    base::write_file(folder / "a.tsv", content);
    return failure([&] { read_tsv(folder / "a.tsv"); });
  };
  EXPECT_THAT(read("a\tb\nno tab\n"), AllOf(HasSubstr("a.tsv, line 2"), HasSubstr("one column")));
  EXPECT_THAT(read("a\tb\n\n"), HasSubstr("line 2"));
  EXPECT_THAT(read("a\tb\tc\t1\te\n"), AllOf(HasSubstr("line 1"), HasSubstr("5 columns")));
  for (const char* weight : {"x", "", "-1", "nan", "inf", "1e9", "1 "}) {
    EXPECT_THAT(read(fmt::format("a\tb\tc\t{}\n", weight)), AllOf(HasSubstr("line 1"), HasSubstr("weight")));
  }
  EXPECT_THAT(read("a\tb\na\t\xff\n"), AllOf(HasSubstr("line 2"), HasSubstr("UTF-8")));
  EXPECT_THAT(read("a\tb\n \tb\n"), AllOf(HasSubstr("line 2"), HasSubstr("source is blank")));
  EXPECT_THAT(read(""), HasSubstr("empty"));
  EXPECT_EQ(read("a\tb\n"), "no error");
}

TEST(Tsv, LeavesBadTextToTheFilters) {
  const TemporaryFolder folder;
  base::write_file(folder / "a.tsv", "a\t\xff\n\tb\n");
  EXPECT_EQ(read_tsv_pairs(folder / "a.tsv").size(), 2u);
}

}  // namespace
}  // namespace zhuyi::data
