// Message catalogues, built byte by byte here: both byte orders, contexts, plural forms, and files that lie.

#include "data/mo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "temporary_folder.h"

namespace zhuyi::data {
namespace {

using testing::HasSubstr;
using Messages = std::vector<std::pair<std::string, std::string>>;

void put(std::string& bytes, std::uint32_t value, bool big) {
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * (big ? 3 - i : i)));
}

// A catalogue as the gettext manual lays it out: magic, revision, count, two tables, no hash table, texts.
std::string catalogue(const Messages& messages, bool big = false) {
  const auto count = static_cast<std::uint32_t>(messages.size());
  std::string bytes;
  for (const std::uint32_t value : {0x950412deu, 0u, count, 28u, 28u + 8 * count, 0u, 0u}) put(bytes, value, big);
  std::uint32_t offset = 28 + 16 * count;
  std::string texts;
  for (const bool second : {false, true}) {
    for (const auto& [id, text] : messages) {
      const std::string& part = second ? text : id;
      put(bytes, static_cast<std::uint32_t>(part.size()), big);
      put(bytes, offset, big);
      texts += part + '\0';
      offset += static_cast<std::uint32_t>(part.size()) + 1;
    }
  }
  return bytes + texts;
}

void set_number(std::string& bytes, std::size_t offset, std::uint32_t value) {
  std::string number;
  put(number, value, false);
  bytes.replace(offset, 4, number);
}

// The message of the error that parse_mo() throws, and its kind.
std::string failure(const std::string& bytes, base::ErrorKind kind = base::ErrorKind::bad_file) {
  try {
    parse_mo(bytes, "test.mo");
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.message();
  }
  return "no error";
}

const Messages kMessages{
    {"", "Project-Id-Version: x\nContent-Type: text/plain; charset=UTF-8\n"},
    {std::string("%d file\0%d files", 16), "%d 个文件"},
    {"_Open", "打开(_O)"},
    {"menu\x04Save", "保存"},
    {"sheet|button|ok\x04Insert <b>Row</b>", "插入<b>行</b>"},
};

TEST(Mo, ReadsBothByteOrders) {
  for (const bool big : {false, true}) {
    const std::vector<SentencePair> pairs = parse_mo(catalogue(kMessages, big), "test.mo");
    ASSERT_EQ(pairs.size(), 5u);
    // One plural form goes with the singular and the plural.
    EXPECT_EQ(pairs[0].source, "%d file");
    EXPECT_EQ(pairs[0].target, "%d 个文件");
    EXPECT_EQ(pairs[1].source, "%d files");
    EXPECT_EQ(pairs[1].target, "%d 个文件");
    EXPECT_EQ(pairs[2].source, "Open");
    EXPECT_EQ(pairs[2].target, "打开");
    EXPECT_EQ(pairs[2].document, "test.mo#1");
    EXPECT_EQ(pairs[2].line, 3);
    EXPECT_EQ(pairs[3].source, "Save");
    EXPECT_EQ(pairs[3].document, "test.mo#1");
    EXPECT_EQ(pairs[4].source, "Insert Row");
    EXPECT_EQ(pairs[4].target, "插入行");
    EXPECT_EQ(pairs[4].document, "test.mo:sheet");
  }
}

TEST(Mo, TakesTheFirstAndTheLastOfSeveralPluralForms) {
  const Messages messages{{std::string("one\0many", 8), std::string("jeden\0dwa\0piec", 14)}};
  const std::vector<SentencePair> pairs = parse_mo(catalogue(messages), "pl.mo");
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].target, "jeden");
  EXPECT_EQ(pairs[1].source, "many");
  EXPECT_EQ(pairs[1].target, "piec");
}

TEST(Mo, NamesADocumentForEachFiftyEntries) {
  Messages messages;
  for (int i = 0; i < 51; ++i) messages.emplace_back("id" + std::to_string(100 + i), "text");
  const std::vector<SentencePair> pairs = parse_mo(catalogue(messages), "big.mo");
  EXPECT_EQ(pairs[49].document, "big.mo#1");
  EXPECT_EQ(pairs[50].document, "big.mo#2");
}

TEST(Mo, RefusesWhatIsNoCatalogue) {
  EXPECT_THAT(failure(""), HasSubstr("0 bytes are too few"));
  EXPECT_THAT(failure(std::string(4096, '\0')), HasSubstr("not a binary message catalogue"));
  EXPECT_THAT(failure("msgid \"\"\nmsgstr \"\"\nand some more text"), HasSubstr("not a binary message catalogue"));
  std::string revision = catalogue(kMessages);
  set_number(revision, 4, 0x00020000);
  EXPECT_THAT(failure(revision), HasSubstr("unknown revision 2"));
}

TEST(Mo, RefusesEveryCutFile) {
  const std::string whole = catalogue(kMessages);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(failure(whole.substr(0, size)), "no error") << size << " bytes";
  }
}

TEST(Mo, RefusesFilesThatPointOutsideThemselves) {
  const std::string whole = catalogue(kMessages);
  std::string bytes = whole;
  set_number(bytes, 8, 0xffffffff);  // entries
  EXPECT_THAT(failure(bytes), HasSubstr("4294967295 entries cannot stand"));
  for (const std::size_t offset : {12u, 16u, 28u, 32u, 68u, 72u}) {  // tables, and length and offset of a text in each
    bytes = whole;
    set_number(bytes, offset, 0xfffffff0);
    EXPECT_THAT(failure(bytes), HasSubstr("outside")) << offset;
  }
  bytes = whole;
  set_number(bytes, 36, 3);  // a text that ends in the middle of another
  EXPECT_THAT(failure(bytes), HasSubstr("zero byte"));
}

TEST(Mo, RefusesEntriesThatShareTheirBytes) {
  Messages messages(200, {"", ""});
  messages[0] = {std::string(2000, 'x'), "y"};
  std::string bytes = catalogue(messages);
  for (std::size_t i = 1; i < 200; ++i) bytes.replace(28 + 8 * i, 8, bytes.substr(28, 8));
  EXPECT_THAT(failure(bytes), HasSubstr("overlap"));
}

TEST(Mo, RefusesOtherEncodings) {
  const Messages messages{{"", "Content-Type: text/plain; charset=GB2312\n"}, {"a", "b"}};
  EXPECT_THAT(failure(catalogue(messages), base::ErrorKind::unsupported), HasSubstr("GB2312"));
}

TEST(Mo, ReadsTheCataloguesOfAFolderInTheOrderOfTheirPaths) {
  const TemporaryFolder folder;
  base::create_directories(folder / "b/deep");
  base::write_file(folder / "b/deep/one.mo", catalogue({{"first", "一"}}));
  base::write_file(folder / "c.mo", catalogue({{"second", "二"}}, true));
  base::write_file(folder / "a.txt", "not read");
  const std::vector<SentencePair> pairs = read_mo(folder / "");
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].source, "first");
  EXPECT_EQ(pairs[1].document, "c.mo#1");
  EXPECT_THROW(read_mo(folder / "b/missing.mo"), base::Error);
}

}  // namespace
}  // namespace zhuyi::data
