#pragma once
// Text to vocabulary ids and back (SentencePiece), with the promise that nothing readers see is changed on the way.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zhuyi::text {

// A SentencePiece model (Kudo, Richardson, 2018). Immutable, cheap to copy, and safe to use from several threads.
//
// Exactness: decode(encode(x)) == nfc(x) for every well-formed x (NUL and ends of line included) when the model was
// trained by train_tokenizer with byte fallback. Texts that look like special pieces ("<s>", "<0x41>") are ordinary
// text. Without byte fallback a character the vocabulary lacks becomes unk() and is lost, and U+2581, SentencePiece's
// mark of a space, decodes to a space. Models from elsewhere normalise by their own rules (usually NFKC) and promise
// nothing.
class Tokenizer {
 public:
  // From the bytes of a SentencePiece model file. Throws bad_model when they are not one or cannot be trusted.
  explicit Tokenizer(std::string model_bytes);

  // From a model file. Throws not_found, bad_file, bad_model.
  static Tokenizer load(const std::filesystem::path& path);

  // The bytes the tokenizer was made of.
  const std::string& serialized() const;

  // Number of pieces; ids are 0 .. size() - 1.
  std::int64_t size() const;

  // Special ids as the model defines them, -1 for one it lacks (Marian's models have no start token). unk() always
  // exists.
  std::int32_t bos() const;
  std::int32_t eos() const;
  std::int32_t unk() const;
  std::int32_t pad() const;

  // True when a character the vocabulary lacks is written as its UTF-8 bytes, not as unk().
  bool byte_fallback() const;

  // Ids of one line of text, after nfc(); no start or end token is added. Empty for empty text.
  std::vector<std::int32_t> encode(std::string_view text) const;

  // The same as pieces, as they stand in the vocabulary (an unknown character stands as itself).
  std::vector<std::string> encode_pieces(std::string_view text) const;

  // Text of ids. Control ids (start, end, padding) are skipped, unk() gives " ⁇ " (SentencePiece's default), bytes that
  // are no UTF-8 give U+FFFD. Throws invalid_argument for an id outside [0, size()).
  std::string decode(std::span<const std::int32_t> ids) const;

  // Text of pieces; a piece that is not in the vocabulary stands for itself.
  std::string decode_pieces(std::span<const std::string> pieces) const;

  // The piece of an id. Throws invalid_argument for an id outside [0, size()).
  const std::string& piece(std::int32_t id) const;

  // The id of a piece (special ones included), -1 when the vocabulary lacks it.
  std::int32_t id(std::string_view piece) const;

  // The ids of pieces. Throws invalid_argument for one that the vocabulary lacks.
  std::vector<std::int32_t> ids(std::span<const std::string> pieces) const;

 private:
  struct Model;
  std::shared_ptr<const Model> model_;
};

enum class TokenizerType { unigram, bpe };

// What to train. Models have the ids unk 0, bos 1 (the start token), eos 2, and no padding.
struct TokenizerTraining {
  TokenizerType type = TokenizerType::unigram;
  std::int64_t size = 8000;            // pieces in all: special, byte and user-defined ones included
  bool size_is_limit = false;          // true: fewer pieces are fine where the text is too small for `size`
  bool byte_fallback = true;           // 256 byte pieces, for characters the vocabulary lacks
  bool split_digits = true;            // every digit 0-9 is its own piece, so that numbers are copied digit by digit
  double character_coverage = 0.9999;  // share of the text's characters that are their own pieces, 0.98 to 1
  std::vector<std::string> user_defined = {};  // pieces never split, such as "<br>"; without white space or U+2581
  std::int64_t max_sentences = 0;              // train on so many sentences, evenly spread over the text; 0: all
  int threads = 4;  // part of the result: sums are ordered by it. More than the cores is fine
};

// Trains a tokenizer and gives its model bytes, the same for the same input on every run. Normalisation is nfc() here
// and identity inside the model; a space is put before each text ("dummy prefix"), so that a word gets the same piece
// at the beginning and inside, and taken off by decode. Blank sentences are ignored. Throws invalid_argument (options
// out of range, no text, a size too large or too small for the text: the message states the limit).
std::string train_tokenizer(std::span<const std::string> sentences, const TokenizerTraining& options);

}  // namespace zhuyi::text
