// Streamed text: every line once an epoch, in an order of its seed, by weight; and files with a weight.

#include "data/shuffled_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "temporary_folder.h"

namespace zhuyi::data {
namespace {

using testing::HasSubstr;

// Lines "NAME i <TAB> i".
std::string lines(const std::string& name, int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += fmt::format("{} {}\t{}\n", name, i, i);
  return text;
}

// How often each source comes in an epoch.
std::map<std::string, int> sources_of(const ShuffledText& text, std::int64_t epoch) {
  std::map<std::string, int> found;
  for (std::int64_t part = 0; part < text.parts(epoch); ++part) {
    for (const SentencePair& pair : text.read(epoch, part)) ++found[pair.source];
  }
  return found;
}

std::vector<std::string> first_part(const ShuffledText& text, std::int64_t epoch) {
  std::vector<std::string> sources;
  for (const SentencePair& pair : text.read(epoch, 0)) sources.push_back(pair.source);
  return sources;
}

TEST(ShuffledText, GivesEveryLineOnceAnEpochWithItsNumber) {
  const TemporaryFolder folder;
  for (const int count : {1, 255, 256, 257, 3000}) {
    std::string text = lines("a", count);
    if (count == 257) text.pop_back();  // no end of line at the end
    base::write_file(folder / "a.tsv", text);
    const ShuffledText streamed({{folder / "a.tsv", 1}}, 700, 5);
    EXPECT_EQ(streamed.lines(), count);
    EXPECT_EQ(streamed.parts(0), (count + 511) / 512);  // two blocks of 256 a part
    const std::map<std::string, int> found = sources_of(streamed, 3);
    EXPECT_EQ(found.size(), static_cast<std::size_t>(count));
    for (const auto& [source, times] : found) EXPECT_EQ(times, 1) << source;
    for (const SentencePair& pair : streamed.read(0, 0)) EXPECT_EQ(std::to_string(pair.line), pair.target);
  }
}

TEST(ShuffledText, TheOrderIsAFunctionOfSeedAndEpoch) {
  const TemporaryFolder folder;
  base::write_file(folder / "a.tsv", lines("a", 5000));
  const ShuffledText one({{folder / "a.tsv", 1}}, 1000, 5);
  const ShuffledText same({{folder / "a.tsv", 1}}, 1000, 5);
  const ShuffledText other({{folder / "a.tsv", 1}}, 1000, 6);
  EXPECT_EQ(first_part(one, 2), first_part(same, 2));
  EXPECT_NE(first_part(one, 2), first_part(one, 1));
  EXPECT_NE(first_part(one, 2), first_part(other, 2));
  EXPECT_EQ(one.fingerprint(), same.fingerprint());
  base::write_file(folder / "a.tsv", lines("b", 5000));
  EXPECT_NE(ShuffledText({{folder / "a.tsv", 1}}, 1000, 5).fingerprint(), one.fingerprint());
}

TEST(ShuffledText, FilesComeAsOftenAsTheirWeights) {
  const TemporaryFolder folder;
  base::write_file(folder / "a.tsv", lines("a", 600));
  base::write_file(folder / "b.tsv", lines("b", 40 * 256));
  const ShuffledText text({{folder / "a.tsv", 2}, {folder / "b.tsv", 0.5}}, 100000, 1);
  int halves = 0;
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    for (const auto& [source, times] : sources_of(text, epoch)) {
      if (source.starts_with("a ")) {
        EXPECT_EQ(times, 2);
      } else {
        halves += times;
      }
    }
  }
  // 400 draws of blocks of 256 lines with probability 1/2: 200, with a deviation of 10.
  EXPECT_NEAR(halves / 256.0, 200, 50);
}

TEST(ShuffledText, NamesWhatItCannotRead) {
  const TemporaryFolder folder;
  const auto failure = [&](const std::string& content, base::ErrorKind kind) {
    base::write_file(folder / "a.tsv", content);
    try {
      ShuffledText({{folder / "a.tsv", 1}}, 10, 1).read(0, 0);
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.message();
    }
    return std::string("no error");
  };
  EXPECT_THAT(failure("", base::ErrorKind::bad_file), HasSubstr("empty"));
  EXPECT_THAT(failure("\x1f\x8b\x08", base::ErrorKind::bad_file), HasSubstr("gzipped"));
  EXPECT_THAT(failure("a\tb\n\tb\n", base::ErrorKind::bad_file), HasSubstr("line 2"));
  EXPECT_THROW(ShuffledText({{folder / "none", 1}}, 10, 1), base::Error);
}

TEST(WeightedFile, TakesAWeightFromTheName) {
  const TemporaryFolder folder;
  const auto weight = [](const std::string& text) { return weighted_file(text).weight; };
  EXPECT_EQ(weighted_file("a.tsv:2.5").path, "a.tsv");
  EXPECT_EQ(weight("a.tsv:2.5"), 2.5);
  EXPECT_EQ(weight("a.tsv"), 1);
  EXPECT_EQ(weighted_file("dir:x/a.tsv").path, "dir:x/a.tsv");
  base::write_file(folder / "a:2", "a\tb\t\t3\n");
  EXPECT_EQ(weight((folder / "a:2").string()), 1);
  EXPECT_THROW(weighted_file("a.tsv:0"), base::Error);
  EXPECT_THROW(weighted_file("a.tsv:-1"), base::Error);
  base::write_file(folder / "b", "c\td\n");
  const std::vector<SentencePair> pairs = read_weighted({{folder / "a:2", 0.5}, {folder / "b", 4}});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].weight, 1.5);
  EXPECT_EQ(pairs[1].weight, 4);
}

}  // namespace
}  // namespace zhuyi::data
