// Training of tokenizers: text in, SentencePiece model out, the same bytes every time.

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "text/normalize.h"
#include "text/tokenizer.h"

namespace zhuyi::text {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

// SentencePiece skips longer lines; it is a limit against files without line ends.
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 16;

// Characters that must not become pieces: controls (tab, carriage return, NUL: a line of pieces must stay one line) and
// the two that SentencePiece uses as marks, U+2581 (space) and U+2585 (unknown; lines with it would be skipped). In
// text to be encoded they go through as bytes.
bool never_a_piece(char32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x2028 || character == 0x2029 ||
         character == 0x2581 || character == 0x2585;
}

// The line as the trainer sees it.
std::string training_line(std::string_view sentence) {
  const std::string normal = nfc(sentence);
  std::u32string characters;
  for (const char32_t character : decode_utf8(normal)) characters += never_a_piece(character) ? U' ' : character;
  return encode_utf8(characters);
}

std::vector<std::string> training_lines(std::span<const std::string> sentences, std::int64_t max_sentences) {
  const auto count = static_cast<std::int64_t>(sentences.size());
  const std::int64_t wanted = max_sentences > 0 ? std::min(max_sentences, count) : count;
  std::vector<std::string> lines;
  for (std::int64_t i = 0; i < wanted; ++i) {
    const std::string& sentence = sentences[static_cast<std::size_t>(i * count / wanted)];
    if (blank(sentence) || sentence.size() > kMaxLineBytes) continue;
    lines.push_back(training_line(sentence));
  }
  return lines;
}

class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return next_ >= lines_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return lines_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  std::size_t next_ = 0;
};

// A list as one option: comma-separated, each item in quotes with its own quotes doubled.
std::string quoted_list(const std::vector<std::string>& items) {
  std::string result;
  for (const std::string& item : items) {
    if (!result.empty()) result += ',';
    result += '"';
    for (const char c : item) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    result += '"';
  }
  return result;
}

void check_options(const TokenizerTraining& options) {
  base::check(options.size >= 3 && options.size <= 1'000'000, "tokenizer: a vocabulary of {}, expected 3 to 1000000",
              options.size);
  base::check(options.character_coverage >= 0.98 && options.character_coverage <= 1,
              "tokenizer: character coverage {}, expected 0.98 to 1", options.character_coverage);
  base::check(options.threads >= 1 && options.threads <= 1024, "tokenizer: {} threads, expected 1 to 1024",
              options.threads);
  base::check(options.max_sentences >= 0, "tokenizer: at most {} sentences, expected 0 (all) or more",
              options.max_sentences);
  for (const std::string& piece : options.user_defined) {
    const std::vector<char32_t> characters = decode_utf8(piece);
    base::check(!piece.empty() && piece.size() <= 256 && valid_utf8(piece) && nfc(piece) == piece &&
                    std::none_of(characters.begin(), characters.end(), never_a_piece) &&
                    piece.find(' ') == std::string::npos,
                "tokenizer: '{}' cannot be a piece of its own, expected 1 to 256 bytes of NFC text without spaces, "
                "controls, U+2581 and U+2585",
                replace_invalid_utf8(piece));
  }
}

std::unordered_map<std::string, std::string> trainer_arguments(const TokenizerTraining& options) {
  const auto flag = [](bool value) { return std::string(value ? "true" : "false"); };
  std::unordered_map<std::string, std::string> arguments = {
      {"model_type", options.type == TokenizerType::bpe ? "bpe" : "unigram"},
      {"vocab_size", std::to_string(options.size)},
      {"hard_vocab_limit", flag(!options.size_is_limit)},
      {"byte_fallback", flag(options.byte_fallback)},
      {"split_digits", flag(options.split_digits)},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"num_threads", std::to_string(options.threads)},
      {"max_sentence_length", std::to_string(4 * kMaxLineBytes)},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"add_dummy_prefix", "true"},
      // A space must always be a piece: as bytes it would come back as U+2581.
      {"required_chars", std::string(kSpaceMark)},
      {"unk_id", "0"},
      {"bos_id", "1"},
      {"eos_id", "2"},
      {"pad_id", "-1"},
      {"minloglevel", "3"},
  };
  if (!options.user_defined.empty()) arguments.emplace("user_defined_symbols", quoted_list(options.user_defined));
  return arguments;
}

// The number that follows `phrase` in `message`.
std::optional<std::int64_t> number_after(std::string_view message, std::string_view phrase) {
  const std::size_t position = message.find(phrase);
  if (position == std::string_view::npos) return std::nullopt;
  const std::string_view digits = message.substr(position + phrase.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

[[noreturn]] void fail_training(std::string_view message, const TokenizerTraining& options) {
  if (const auto largest = number_after(message, "value <= ")) {
    base::fail(
        base::ErrorKind::invalid_argument,
        "tokenizer: {} pieces are too many for this text, which gives at most {}: ask for a smaller vocabulary, or "
        "give more text",
        options.size, *largest);
  }
  if (const auto smallest = number_after(message, " vs ")) {
    base::fail(
        base::ErrorKind::invalid_argument,
        "tokenizer: {} pieces are too few for this text, whose special, byte and single-character pieces need more "
        "than {}: ask for a larger vocabulary, or lower the character coverage",
        options.size, *smallest);
  }
  base::fail(base::ErrorKind::invalid_argument, "tokenizer: SentencePiece cannot train on this text: {}", message);
}

}  // namespace

std::string train_tokenizer(std::span<const std::string> sentences, const TokenizerTraining& options) {
  check_options(options);
  const std::vector<std::string> lines = training_lines(sentences, options.max_sentences);
  base::check(!lines.empty(), "tokenizer: no text to train on in {} lines, all are blank or longer than {} bytes",
              sentences.size(), kMaxLineBytes);
  Lines iterator(lines);
  std::string model;
  try {
    const sentencepiece::util::Status status =
        sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &iterator, &model);
    if (!status.ok()) fail_training(status.message(), options);
  } catch (const base::Error&) {
    throw;
  } catch (const std::exception& error) {
    fail_training(error.what(), options);
  }
  return model;
}

}  // namespace zhuyi::text
