#include "text/tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/files.h"
#include "text/normalize.h"
#include "text/piece_model.h"

namespace zhuyi::text {
namespace {

using base::ErrorKind;

constexpr std::string_view kSpaceMark = "\u2581";

// Characters without a meaning (planes 16 and 15 are for private use), which stand in for U+2581 on its way through the
// library.
constexpr char32_t kFirstStandIn = 0x10fffd;
constexpr char32_t kLastStandIn = 0xf0000;

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (;;) {
    const std::size_t position = text.find(from);
    result.append(text.substr(0, position));
    if (position == std::string_view::npos) return result;
    result.append(to);
    text.remove_prefix(position + from.size());
  }
}

// Puts the pieces of a text together again: marks become spaces, and the space put before each text goes.
class TextBuilder {
 public:
  explicit TextBuilder(const PieceModel& model) : model_(model) {}

  void add(const Piece& piece) {
    switch (piece.kind) {
      case PieceKind::control:
        return;
      case PieceKind::unknown:
        text_ += model_.unknown_surface;
        return;
      case PieceKind::byte:
        text_ += static_cast<char>(byte_value(piece.text));
        return;
      default:
        add(piece.text);
    }
  }

  void add(std::string_view piece) {
    const bool drop_space = model_.add_dummy_prefix && !model_.whitespace_as_suffix && !prefix_dropped_;
    const bool drop_spaces = model_.remove_extra_whitespaces;
    if (text_.empty() && (drop_space || drop_spaces) && piece.starts_with(kSpaceMark)) {
      piece.remove_prefix(kSpaceMark.size());
      prefix_dropped_ = true;
    }
    text_ += replace_all(piece, kSpaceMark, " ");
  }

  std::string take() {
    const bool dummy_suffix = model_.add_dummy_prefix && model_.whitespace_as_suffix;
    if (dummy_suffix && text_.ends_with(' ')) text_.pop_back();
    return replace_invalid_utf8(text_);
  }

 private:
  const PieceModel& model_;
  std::string text_;
  bool prefix_dropped_ = false;
};

}  // namespace

struct Tokenizer::Model {
  std::string bytes;
  PieceModel description;
  sentencepiece::SentencePieceProcessor processor;
  std::unordered_map<std::string_view, std::int32_t> ids;
  std::array<std::int32_t, 256> byte_ids{};  // -1 for one the model lacks
  std::int32_t bos = -1;
  std::int32_t eos = -1;
  std::int32_t unk = -1;
  std::int32_t pad = -1;

  std::vector<std::int32_t> encode(std::string_view text) const;
  std::optional<std::string> stand_in(std::string_view text) const;
  std::vector<std::int32_t> bytes_of(std::string_view text) const;
};

std::vector<std::int32_t> Tokenizer::Model::bytes_of(std::string_view text) const {
  std::vector<std::int32_t> result;
  for (const char byte : text) result.push_back(byte_ids[static_cast<std::uint8_t>(byte)]);
  return result;
}

// UTF-8 of a character that neither the text nor the vocabulary holds.
std::optional<std::string> Tokenizer::Model::stand_in(std::string_view text) const {
  for (char32_t character = kFirstStandIn; character >= kLastStandIn; --character) {
    if ((character & 0xffff) >= 0xfffe) continue;
    std::string candidate = encode_utf8(std::u32string_view(&character, 1));
    const bool in_vocabulary =
        std::any_of(description.pieces.begin(), description.pieces.end(),
                    [&](const Piece& piece) { return piece.text.find(candidate) != std::string::npos; });
    if (!in_vocabulary && text.find(candidate) == std::string_view::npos) return candidate;
  }
  return std::nullopt;
}

std::vector<std::int32_t> Tokenizer::Model::encode(std::string_view text) const {
  std::vector<int> ids_of_text;
  const sentencepiece::util::Status status = processor.Encode(text, &ids_of_text);
  base::check_kind(status.ok(), ErrorKind::internal, "cannot encode a text of {} bytes: {}", text.size(),
                   status.message());
  return ids_of_text;
}

Tokenizer::Tokenizer(std::string model_bytes) {
  auto model = std::make_shared<Model>();
  model->bytes = std::move(model_bytes);
  model->description = read_piece_model(model->bytes);
  try {
    const sentencepiece::util::Status status = model->processor.LoadFromSerializedProto(model->bytes);
    base::check_kind(status.ok(), ErrorKind::bad_model, "SentencePiece refuses the model: {}", status.message());
  } catch (const base::Error&) {
    throw;
  } catch (const std::exception& error) {
    base::fail(ErrorKind::bad_model, "SentencePiece refuses the model: {}", error.what());
  }
  const std::vector<Piece>& pieces = model->description.pieces;
  base::check_kind(model->processor.GetPieceSize() == static_cast<int>(pieces.size()), ErrorKind::bad_model,
                   "SentencePiece reads {} pieces, expected {}", model->processor.GetPieceSize(), pieces.size());
  model->byte_ids.fill(-1);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    model->ids.emplace(pieces[i].text, id);
    if (pieces[i].kind == PieceKind::byte) model->byte_ids[static_cast<std::size_t>(byte_value(pieces[i].text))] = id;
  }
  model->bos = model->processor.bos_id();
  model->eos = model->processor.eos_id();
  model->unk = model->processor.unk_id();
  model->pad = model->processor.pad_id();
  model_ = std::move(model);
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  return base::within(path.string(), [&] { return Tokenizer(base::read_file(path)); });
}

const std::string& Tokenizer::serialized() const { return model_->bytes; }
std::int64_t Tokenizer::size() const { return static_cast<std::int64_t>(model_->description.pieces.size()); }
std::int32_t Tokenizer::bos() const { return model_->bos; }
std::int32_t Tokenizer::eos() const { return model_->eos; }
std::int32_t Tokenizer::unk() const { return model_->unk; }
std::int32_t Tokenizer::pad() const { return model_->pad; }
bool Tokenizer::byte_fallback() const { return model_->description.byte_fallback; }

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::string normal = nfc(text);
  // SentencePiece writes a space as U+2581 and would take a U+2581 of the text for one. The text's own goes through as
  // a character that is surely unknown, and its bytes are put right afterwards.
  if (!byte_fallback() || normal.find(kSpaceMark) == std::string::npos) return model_->encode(normal);
  const std::optional<std::string> stand_in = model_->stand_in(normal);
  if (!stand_in) return model_->encode(normal);
  const std::vector<std::int32_t> ids = model_->encode(replace_all(normal, kSpaceMark, *stand_in));
  const std::vector<std::int32_t> from = model_->bytes_of(*stand_in);
  const std::vector<std::int32_t> to = model_->bytes_of(kSpaceMark);
  std::vector<std::int32_t> result;
  for (auto rest = ids.begin();;) {
    const auto found = std::search(rest, ids.end(), from.begin(), from.end());
    result.insert(result.end(), rest, found);
    if (found == ids.end()) return result;
    result.insert(result.end(), to.begin(), to.end());
    rest = found + static_cast<std::ptrdiff_t>(from.size());
  }
}

std::vector<std::string> Tokenizer::encode_pieces(std::string_view text) const {
  std::vector<std::string> pieces;
  if (byte_fallback()) {
    for (const std::int32_t id : encode(text)) pieces.push_back(piece(id));
    return pieces;
  }
  const sentencepiece::util::Status status = model_->processor.Encode(nfc(text), &pieces);
  base::check_kind(status.ok(), ErrorKind::internal, "cannot encode a text of {} bytes: {}", text.size(),
                   status.message());
  return pieces;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  TextBuilder builder(model_->description);
  for (const std::int32_t id : ids) {
    base::check(id >= 0 && id < size(), "decode: id {} is outside the vocabulary of {} pieces", id, size());
    builder.add(model_->description.pieces[static_cast<std::size_t>(id)]);
  }
  return builder.take();
}

std::string Tokenizer::decode_pieces(std::span<const std::string> pieces) const {
  TextBuilder builder(model_->description);
  for (const std::string& piece : pieces) {
    const std::int32_t known = id(piece);
    if (known < 0) {
      builder.add(std::string_view(piece));
    } else {
      builder.add(model_->description.pieces[static_cast<std::size_t>(known)]);
    }
  }
  return builder.take();
}

const std::string& Tokenizer::piece(std::int32_t id) const {
  base::check(id >= 0 && id < size(), "piece: id {} is outside the vocabulary of {} pieces", id, size());
  return model_->description.pieces[static_cast<std::size_t>(id)].text;
}

std::int32_t Tokenizer::id(std::string_view piece) const {
  const auto found = model_->ids.find(piece);
  return found == model_->ids.end() ? -1 : found->second;
}

std::vector<std::int32_t> Tokenizer::ids(std::span<const std::string> pieces) const {
  std::vector<std::int32_t> result;
  for (const std::string& piece : pieces) {
    result.push_back(id(piece));
    base::check(result.back() >= 0, "the vocabulary has no piece '{}'", piece);
  }
  return result;
}

}  // namespace zhuyi::text
