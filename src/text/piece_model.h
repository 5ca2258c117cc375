#pragma once
// A SentencePiece model file read far enough to trust it: the library itself takes some of what a file says on faith.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace zhuyi::text {

// The kinds of pieces, with SentencePiece's numbers (sentencepiece_model.proto).
enum class PieceKind : std::int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct Piece {
  std::string text;
  float score = 0;
  PieceKind kind = PieceKind::normal;
};

// What the library does not tell of a model, or tells only through headers that are not installed.
struct PieceModel {
  std::vector<Piece> pieces;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool whitespace_as_suffix = false;
  bool byte_fallback = false;
  bool bpe = false;  // made by merges in the order of the scores (Sennrich et al., 2016), not unigram
  std::string unknown_surface = " \u2047 ";  // what an unknown id decodes to
};

// The byte that a piece such as "<0x41>" stands for, -1 when it has another form.
int byte_value(std::string_view piece);

// Reads the bytes of a model file. Throws bad_model when they are cut, are no model, or hold what could lead the
// library astray: pieces that are empty, very long, no UTF-8 or with NUL, scores that are no numbers, byte pieces that
// are no bytes or incomplete, a normalisation table whose links leave it.
PieceModel read_piece_model(std::string_view bytes);

}  // namespace zhuyi::text
