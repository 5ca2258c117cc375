// The whole way: sources of every form to files on disk, and what stays when it fails.

#include "data/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "data/pairs.h"
#include "temporary_folder.h"

namespace zhuyi::data {
namespace {

using base::ErrorKind;
using testing::HasSubstr;

std::string failure(ErrorKind kind, const CorpusOptions& options) {
  try {
    make_corpus(options);
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.message();
    return error.message();
  }
  return "no error";
}

TEST(Corpus, ReadsCleansAndWrites) {
  const TemporaryFolder folder;
  base::write_file(folder / "a,b.en", "Hello\r\nGNU\nStay. Here.\n");
  base::write_file(folder / "a.zh", "你好\nGNU\n留。这里。\n");
  base::write_file(folder / "c.tsv", "Hello\t你好\tbook\nBye\t再见\tbook\n");
  base::create_directories(folder / "en");
  base::create_directories(folder / "zh");
  base::write_file(folder / "en/p.html", "<p>Open it. Close it.</p>");
  base::write_file(folder / "zh/p.html", "<p>打开它。关闭它。</p>");
  base::write_file(folder / "en/q.html", "<p>Alone</p>");
  const CorpusReport report = make_corpus({
      .sources = {"pairs:" + (folder / "a,b.en").string() + "," + (folder / "a.zh").string(),
                  "tsv:" + (folder / "c.tsv").string(),
                  "html:" + (folder / "en").string() + "," + (folder / "zh").string()},
      .output = folder / "out.tsv",
  });
  EXPECT_EQ(base::read_file(folder / "out.tsv"),
            "Hello\t你好\ta,b.en#1\n"
            "Stay. Here.\t留。这里。\ta,b.en#1\n"  // lines are units: not split
            "Bye\t再见\tbook\n"
            "Open it.\t打开它。\tp.html\n"
            "Close it.\t关闭它。\tp.html\n");
  EXPECT_EQ(report.read, 7);
  EXPECT_EQ(report.train, 5);
  EXPECT_EQ(report.documents, 3);
  EXPECT_EQ(report.dropped[static_cast<std::size_t>(Reason::same)], 1);
  EXPECT_EQ(report.dropped[static_cast<std::size_t>(Reason::duplicate)], 1);
  ASSERT_EQ(report.sources.size(), 3u);
  EXPECT_EQ(report.sources[0].read, 3);
  EXPECT_EQ(report.sources[0].kept, 2);
  EXPECT_EQ(report.sources[2].skipped_pages, 1);
  EXPECT_TRUE(report.valid_path.empty());
  EXPECT_EQ(read_tsv(folder / "out.tsv").size(), 5u);
}

TEST(Corpus, WritesHeldOutPartsBesideTheOutput) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    lines += "Source " + std::to_string(i) + "\t第" + std::to_string(i) + "\tdocument " + std::to_string(i / 2) + "\n";
  }
  lines += "Source 1\t第一\tother\n";
  base::write_file(folder / "in.tsv", lines);
  CorpusOptions options{.sources = {"tsv:" + (folder / "in.tsv").string()}, .output = folder / "out.tsv"};
  options.split = {.valid = 0.1, .test = 0.1, .documents = "document [012]?[0-9]$"};
  const CorpusReport report = make_corpus(options);
  EXPECT_EQ(report.valid_path, folder / "out.valid.tsv");
  EXPECT_EQ(report.test_path, folder / "out.test.tsv");
  EXPECT_EQ(read_tsv(report.valid_path).size(), static_cast<std::size_t>(report.valid));
  EXPECT_EQ(read_tsv(report.test_path).size(), static_cast<std::size_t>(report.test));
  EXPECT_EQ(report.train + report.valid + report.test + report.dropped[static_cast<std::size_t>(Reason::held_out)],
            101);
  EXPECT_EQ(report.valid, 10);
  EXPECT_EQ(report.test, 10);
  const std::string first = base::read_file(folder / "out.tsv");
  make_corpus(options);
  EXPECT_EQ(base::read_file(folder / "out.tsv"), first);
}

TEST(Corpus, NamesParts) {
  EXPECT_EQ(part_path("a/corpus.tsv", "valid"), "a/corpus.valid.tsv");
  EXPECT_EQ(part_path("corpus", "test"), "corpus.test");
}

TEST(Corpus, SaysToSwapLanguagesInTheWrongOrder) {
  const TemporaryFolder folder;
  base::write_file(folder / "in.tsv", "你好\tHello\n再见\tBye\nOK\tOK\n");
  base::write_file(folder / "out.tsv", "precious\n");
  CorpusOptions options{.sources = {"tsv:" + (folder / "in.tsv").string()}, .output = folder / "out.tsv"};
  EXPECT_THAT(failure(ErrorKind::bad_file, options), HasSubstr("swap"));
  EXPECT_EQ(base::read_file(folder / "out.tsv"), "precious\n");
  options.filters.target_script = Script::any;
  EXPECT_EQ(make_corpus(options).train, 2);
}

TEST(Corpus, RefusesWhatItCannotUse) {
  const TemporaryFolder folder;
  base::write_file(folder / "in.tsv", "same\tsame\n");
  const std::string in = (folder / "in.tsv").string();
  const std::filesystem::path out = folder / "out.tsv";
  EXPECT_THAT(failure(ErrorKind::bad_file, {.sources = {"tsv:" + in}, .output = out}), HasSubstr("all 1 pairs"));
  EXPECT_THAT(failure(ErrorKind::not_found, {.sources = {"tsv:" + in + "x"}, .output = out}), HasSubstr("in.tsvx"));
  EXPECT_THAT(failure(ErrorKind::bad_file, {.sources = {"mo:" + in}, .output = out}), HasSubstr("mo:"));
  for (const std::string& source : {in, std::string("tsv:"), "csv:" + in, "pairs:" + in, std::string("")}) {
    EXPECT_THAT(failure(ErrorKind::invalid_argument, {.sources = {source}, .output = out}), HasSubstr("expected"));
  }
  EXPECT_THAT(failure(ErrorKind::invalid_argument, {.sources = {}, .output = out}), HasSubstr("no source"));
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace zhuyi::data
