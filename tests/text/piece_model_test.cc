#include "text/piece_model.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "text/tokenizer.h"

namespace zhuyi::text {
namespace {

using namespace std::string_literals;

std::string golden(const std::string& name) { return base::read_file(ZHUYI_GOLDEN_DIR "/tokenizer/" + name); }

// A protocol buffer field of bytes shorter than 128.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

std::string piece(const std::string& text, int kind) {
  return field(1, field(1, text) + "\x18" + static_cast<char>(kind));
}

void expect_refused(const std::string& bytes) {
  try {
    const Tokenizer tokenizer(bytes);
    FAIL() << "taken: " << testing::PrintToString(bytes.substr(0, 200));
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_model) << error.message();
  }
}

TEST(PieceModel, ReadsPiecesAndRules) {
  const PieceModel marian = read_piece_model(golden("marian.model"));
  EXPECT_EQ(marian.pieces.size(), 120u);
  EXPECT_EQ(marian.pieces[0].text, "</s>");
  EXPECT_EQ(marian.pieces[0].kind, PieceKind::control);
  EXPECT_EQ(marian.pieces[1].kind, PieceKind::unknown);
  EXPECT_TRUE(marian.remove_extra_whitespaces);
  EXPECT_FALSE(marian.byte_fallback);
  const PieceModel ours = read_piece_model(golden("ours.model"));
  EXPECT_FALSE(ours.remove_extra_whitespaces);
  EXPECT_TRUE(ours.add_dummy_prefix);
  EXPECT_TRUE(ours.byte_fallback);
  EXPECT_EQ(ours.unknown_surface, " \u2047 ");
}

TEST(PieceModel, ReadsBytePieces) {
  EXPECT_EQ(byte_value("<0x00>"), 0);
  EXPECT_EQ(byte_value("<0xE2>"), 0xe2);
  for (const std::string text : {"<0xe2>", "<0xE>", "<0xE22>", "0xE2", "<0xG0>", ""}) EXPECT_EQ(byte_value(text), -1);
}

TEST(PieceModel, RefusesWhatIsNoModel) {
  expect_refused("");
  expect_refused(std::string(1000, '\0'));
  expect_refused("this is a line of text, and no model at all\n");
  expect_refused(std::string(1000, '\xff'));
  const std::string good = piece("<unk>", 2) + piece("a", 1);
  EXPECT_EQ(Tokenizer(good).size(), 2);
  expect_refused(piece("a", 1));                                         // no unknown piece
  expect_refused(good + piece("a", 1));                                  // twice the same
  expect_refused(good + piece("", 1));                                   // empty
  expect_refused(good + piece("b\0c"s, 1));                              // NUL
  expect_refused(good + piece("\xff", 1));                               // no UTF-8
  expect_refused(good + piece("<0x4>", 6));                              // no byte
  expect_refused(good + field(2, "\x98\x02\x01"));                       // byte fallback without byte pieces
  expect_refused(good + field(1, field(1, "b") + "\x15\0\0\xc0\x7f"s));  // a score that is no number
  expect_refused(good + piece("<unk2>", 2));                             // two unknown pieces
}

// The table of rules: four bytes of size, links of four bytes each, strings.
TEST(PieceModel, RefusesRulesThatLeadAstray) {
  const std::string good = piece("<unk>", 2) + piece("a", 1);
  expect_refused(good + field(3, field(2, "abc")));
  expect_refused(good + field(3, field(2, "\x08\0\0\0"s + "abcd")));
  expect_refused(good + field(3, field(2, "\x04\0\0\0"s + "\0\xff\xff\xff"s + "x\0"s)));  // a link beyond the table
  expect_refused(good + field(3, field(2, "\x04\0\0\0"s + "\0\0\0\0"s + "x"s)));          // a string without end
}

TEST(PieceModel, RefusesEveryCut) {
  const std::string bytes = golden("marian.model");
  std::size_t cuts = 0;
  std::size_t refused = 0;
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    ++cuts;
    // A cut between two fields leaves a smaller model that may be whole; anything else must be told.
    try {
      Tokenizer(bytes.substr(0, size)).encode("the model 文字 ﬁ");
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::bad_model) << error.message();
      ++refused;
    }
  }
  EXPECT_GT(refused, cuts * 9 / 10);
}

// Damage is either told or harmless: the model can still be used without leaving its memory (run under the sanitizers).
TEST(PieceModel, SurvivesDamage) {
  base::Random random(base::combine(20240607u));
  for (const char* name : {"ours.model", "marian.model"}) {
    const std::string good = golden(name);
    int refused = 0;
    for (int round = 0; round < 1500; ++round) {
      std::string bytes = good;
      for (std::int64_t flips = 1 + random.below(4); flips > 0; --flips) {
        const auto position = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(bytes.size())));
        bytes[position] = static_cast<char>(bytes[position] ^ (1 << random.below(8)));
      }
      try {
        const Tokenizer tokenizer(bytes);
        const std::vector<std::int32_t> ids = tokenizer.encode("the model reads ﬁ Ａ，文字 \u2581 €");
        for (const std::int32_t id : ids) ASSERT_LT(id, tokenizer.size());
        tokenizer.decode(ids);
      } catch (const base::Error& error) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 0);
  }
}

}  // namespace
}  // namespace zhuyi::text
