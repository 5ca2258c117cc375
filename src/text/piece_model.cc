#include "text/piece_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "text/utf8.h"

namespace zhuyi::text {
namespace {

using base::ErrorKind;

// SentencePiece's own pieces have at most 512 characters; longer ones make it recurse deeply.
constexpr std::size_t kMaxPieceBytes = 4096;

template <class... Args>
void check_model(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  base::check_kind(condition, ErrorKind::bad_model, format, std::forward<Args>(args)...);
}

// One field of a protocol buffer message (Protocol Buffers, "Encoding").
struct Field {
  std::uint64_t number = 0;
  std::uint64_t wire = 0;   // 0 variable-length integer, 1 eight bytes, 2 bytes with their length, 5 four bytes
  std::uint64_t value = 0;  // wire 0, 1, 5
  std::string_view bytes;   // wire 2
};

std::uint64_t take_integer(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    check_model(!rest.empty(), "the SentencePiece model ends in the middle of a number: the file is cut");
    const auto byte = static_cast<std::uint8_t>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  base::fail(ErrorKind::bad_model, "the SentencePiece model holds a number of more than 64 bits: it is damaged");
}

std::string_view take_bytes(std::string_view& rest, std::uint64_t count) {
  check_model(count <= rest.size(),
              "a field of the SentencePiece model has {} bytes, and only {} follow: the file is cut", count,
              rest.size());
  const std::string_view bytes = rest.substr(0, static_cast<std::size_t>(count));
  rest.remove_prefix(static_cast<std::size_t>(count));
  return bytes;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

Field take_field(std::string_view& rest) {
  const std::uint64_t tag = take_integer(rest);
  Field field{.number = tag >> 3, .wire = tag & 7, .value = 0, .bytes = {}};
  check_model(field.number > 0, "not a SentencePiece model: a field has the number 0");
  switch (field.wire) {
    case 0:
      field.value = take_integer(rest);
      break;
    case 1:
      field.value = little_endian(take_bytes(rest, 8));
      break;
    case 2:
      field.bytes = take_bytes(rest, take_integer(rest));
      break;
    case 5:
      field.value = little_endian(take_bytes(rest, 4));
      break;
    default:
      base::fail(ErrorKind::bad_model, "not a SentencePiece model: a field of type {}", field.wire);
  }
  return field;
}

template <class Visit>
void for_each_field(std::string_view message, const Visit& visit) {
  while (!message.empty()) visit(take_field(message));
}

// The table of normalisation rules: a double-array trie (Darts-clone) over UTF-8 keys whose values are offsets in a
// block of strings. SentencePiece follows its links unchecked, so they are all followed here once.
class RuleTable {
 public:
  explicit RuleTable(std::string_view blob) {
    check_model(blob.size() > 4, "the normalisation table has {} bytes, expected more than 4", blob.size());
    const std::uint64_t trie_bytes = little_endian(blob.substr(0, 4));
    check_model(trie_bytes % 4 == 0 && trie_bytes >= 4 && trie_bytes < blob.size() - 4,
                "the normalisation table is damaged: {} bytes of links in {} bytes", trie_bytes, blob.size());
    const std::string_view links = blob.substr(4, static_cast<std::size_t>(trie_bytes));
    for (std::size_t i = 0; i < links.size(); i += 4) {
      units_.push_back(static_cast<std::uint32_t>(little_endian(links.substr(i, 4))));
    }
    strings_ = blob.substr(4 + links.size());
    check_model(strings_.back() == '\0', "the normalisation table is damaged: its last string has no end");
    longest_.assign(units_.size(), kUnseen);
    walk(offset(units_[0]), 0);
  }

 private:
  static constexpr std::int64_t kUnseen = -1;
  static constexpr std::int64_t kOpen = -2;
  static constexpr int kMaxDepth = 256;
  static constexpr std::int64_t kMaxMatches = 32;  // rules that may begin at one position: SentencePiece's array

  static std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }

  // Follows all children of the node whose children lie around `base`; gives the most rules on one path below.
  std::int64_t walk(std::uint32_t base, int depth) {
    check_model(depth < kMaxDepth, "the normalisation table is damaged: a rule has more than {} bytes", kMaxDepth);
    check_model((base | 0xffU) < units_.size(), "the normalisation table is damaged: a link leaves it");
    std::int64_t most = 0;
    for (std::uint32_t label = 0; label < 256; ++label) {
      const std::uint32_t child = base ^ label;
      const std::uint32_t unit = units_[child];
      if ((unit & 0x800000ffU) != label) continue;
      if (longest_[child] == kUnseen) {
        longest_[child] = kOpen;
        longest_[child] = visit(child ^ offset(unit), (unit & 0x100U) != 0, depth);
      }
      check_model(longest_[child] != kOpen, "the normalisation table is damaged: its links form a ring");
      most = std::max(most, longest_[child]);
    }
    check_model(most <= kMaxMatches, "the normalisation table is damaged: {} rules begin at one position", most);
    return most;
  }

  std::int64_t visit(std::uint32_t base, bool has_value, int depth) {
    const std::int64_t below = walk(base, depth + 1);
    if (!has_value) return below;
    check_model((units_[base] & 0x7fffffffU) < strings_.size(),
                "the normalisation table is damaged: a rule without text");
    return below + 1;
  }

  std::vector<std::uint32_t> units_;
  std::string_view strings_;
  std::vector<std::int64_t> longest_;  // by node: the most rules on one path from it
};

Piece read_piece(std::string_view message) {
  Piece piece;
  for_each_field(message, [&](const Field& field) {
    if (field.number == 1 && field.wire == 2) piece.text = field.bytes;
    if (field.number == 2 && field.wire == 5)
      piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
    if (field.number == 3 && field.wire == 0 && field.value >= 1 && field.value <= 6) {
      piece.kind = static_cast<PieceKind>(field.value);
    }
  });
  return piece;
}

void read_trainer(std::string_view message, PieceModel& model) {
  for_each_field(message, [&](const Field& field) {
    constexpr std::uint64_t kBpe = 2;
    if (field.number == 3 && field.wire == 0) model.bpe = field.value == kBpe;
    if (field.number == 24 && field.wire == 0) model.whitespace_as_suffix = field.value != 0;
    if (field.number == 35 && field.wire == 0) model.byte_fallback = field.value != 0;
    if (field.number == 44 && field.wire == 2) model.unknown_surface = field.bytes;
  });
}

void read_normalizer(std::string_view message, PieceModel& model) {
  for_each_field(message, [&](const Field& field) {
    if (field.number == 2 && field.wire == 2 && !field.bytes.empty()) RuleTable{field.bytes};
    if (field.number == 3 && field.wire == 0) model.add_dummy_prefix = field.value != 0;
    if (field.number == 4 && field.wire == 0) model.remove_extra_whitespaces = field.value != 0;
  });
}

void check_pieces(const PieceModel& model) {
  check_model(!model.pieces.empty(), "not a SentencePiece model: it holds no pieces");
  std::set<std::string_view> seen;
  std::int64_t bytes = 0;
  std::int64_t unknown = 0;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const Piece& piece = model.pieces[i];
    check_model(!piece.text.empty() && piece.text.size() <= kMaxPieceBytes, "piece {} has {} bytes, expected 1 to {}",
                i, piece.text.size(), kMaxPieceBytes);
    check_model(valid_utf8(piece.text) && piece.text.find('\0') == std::string::npos,
                "piece {} is not UTF-8 text, or holds NUL", i);
    check_model(std::isfinite(piece.score), "piece {} has a score that is no number", i);
    check_model(seen.insert(piece.text).second, "piece {}, '{}', stands twice in the model", i, piece.text);
    if (piece.kind == PieceKind::unknown) ++unknown;
    if (piece.kind != PieceKind::byte) continue;
    check_model(byte_value(piece.text) >= 0, "piece {}, '{}', is marked as a byte, expected '<0x00>' to '<0xFF>'", i,
                piece.text);
    ++bytes;
  }
  check_model(unknown == 1, "the SentencePiece model has {} unknown pieces, expected 1", unknown);
  check_model(!model.byte_fallback || bytes == 256, "the model has {} byte pieces, expected 256", bytes);
}

}  // namespace

int byte_value(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
  constexpr std::string_view digits = "0123456789ABCDEF";
  const std::size_t high = digits.find(piece[3]);
  const std::size_t low = digits.find(piece[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return -1;
  return static_cast<int>(high * 16 + low);
}

PieceModel read_piece_model(std::string_view bytes) {
  check_model(!bytes.empty(), "the SentencePiece model is empty");
  PieceModel model;
  for_each_field(bytes, [&](const Field& field) {
    if (field.wire != 2) return;
    if (field.number == 1) model.pieces.push_back(read_piece(field.bytes));
    if (field.number == 2) read_trainer(field.bytes, model);
    if (field.number == 3) read_normalizer(field.bytes, model);
    if (field.number == 5) {
      PieceModel ignored;  // the rules after decoding: only their table matters, it must be sound
      read_normalizer(field.bytes, ignored);
    }
  });
  check_pieces(model);
  return model;
}

}  // namespace zhuyi::text
