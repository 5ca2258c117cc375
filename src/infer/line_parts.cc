#include "infer/line_parts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "infer/alignment.h"
#include "infer/numbers.h"
#include "infer/phrases.h"
#include "infer/protected_text.h"
#include "infer/unknown_text.h"
#include "text/normalize.h"
#include "text/utf8.h"

namespace zhuyi::infer {
namespace {

// Source tokens of a part, eos left out.
std::int64_t part_limit(const formats::Model& model, const TranslateOptions& options) {
  const std::int64_t most = position_limit(model.transformer->config()) - 1;
  return options.split ? std::min(options.max_source_tokens, most) : most;
}

bool is_word_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Whether `term` stands in `text`, not as a part of a longer word.
bool has_term(std::string_view text, std::string_view term) {
  for (std::size_t at = text.find(term); at != std::string_view::npos; at = text.find(term, at + 1)) {
    const std::size_t end = at + term.size();
    const bool begins = at == 0 || !is_word_byte(text[at - 1]) || !is_word_byte(term.front());
    const bool ends = end == text.size() || !is_word_byte(text[end]) || !is_word_byte(term.back());
    if (begins && ends) return true;
  }
  return false;
}

// Whether the glossary asks something of `text` with this entry.
bool applies(const GlossaryEntry& entry, std::string_view text) {
  return !entry.source.empty() && has_term(text, entry.source);
}

// A part to be translated, with its tokens and its seed, and what the glossary asks of it.
Part part_of(const formats::Model& model, LinePart line, const TranslateOptions& options) {
  Part part{.line = std::move(line), .tokens = {}, .own = {}, .found = {}, .first = {}};
  part.tokens = model.source.encode(part.line.text);
  part.tokens.push_back(model.source.eos());
  for (const std::int32_t token : part.tokens) part.own.seed = base::combine(part.own.seed, token);
  for (const GlossaryEntry& entry : options.glossary) {
    part.asked = part.asked || applies(entry, part.line.text);
    if (applies(entry, part.line.text)) part.own.phrases.push_back(ways_to_write(model.target, entry.targets));
  }
  return part;
}

// Whether a sentence stands in the translation as it is.
bool is_kept(const formats::Model& model, const std::string& sentence, const TranslateOptions& options) {
  return options.protect && untranslatable(sentence, model.source_scripts) &&
         std::none_of(options.glossary.begin(), options.glossary.end(),
                      [&](const GlossaryEntry& entry) { return applies(entry, sentence); });
}

// Whether the model can read a text at once.
std::function<bool(std::string_view)> fitting(const formats::Model& model, const TranslateOptions& options) {
  return [&model, limit = part_limit(model, options)](std::string_view text) {
    return std::ssize(model.source.encode(text)) <= limit;
  };
}

// The sentences cut around what is repeated in them.
std::vector<LinePart> around_repeats(const formats::Model& model, const std::vector<LinePart>& sentences,
                                     const TranslateOptions& options) {
  std::vector<LinePart> parts;
  for (const LinePart& sentence : sentences) {
    std::vector<LinePart> cut = cut_around_repeats(sentence.text, fitting(model, options));
    cut.front().spaced = sentence.spaced;
    for (LinePart& part : cut) parts.push_back(std::move(part));
  }
  return parts;
}

// Whether a text holds one that no translation may have.
bool is_banned(std::string_view text, const TranslateOptions& options) {
  return std::any_of(options.banned.begin(), options.banned.end(), [&](const std::string& banned) {
    return !banned.empty() && text.find(banned) != std::string_view::npos;
  });
}

// The sentences cut around the characters that the model cannot read. Where the glossary has a translation of one, the
// sentence is left.
std::vector<LinePart> around_unknown(const formats::Model& model, std::vector<LinePart> sentences,
                                     const TranslateOptions& options) {
  const auto unknown = [&](std::string_view text) { return unknown_spans(model.source, text, model.source_scripts); };
  std::vector<LinePart> parts;
  for (LinePart& sentence : sentences) {
    std::vector<ProtectedSpan> spans;
    if (!sentence.verbatim && sentence.times == 1 && !is_kept(model, sentence.text, options)) {
      spans = unknown(sentence.text);
    }
    std::erase_if(spans, [&](const ProtectedSpan& span) {
      return is_banned(std::string_view(sentence.text).substr(span.begin, span.end - span.begin), options);
    });
    const bool translated = std::any_of(
        options.glossary.begin(), options.glossary.end(),
        [&](const GlossaryEntry& entry) { return applies(entry, sentence.text) && !unknown(entry.source).empty(); });
    if (spans.empty() || translated) {
      parts.push_back(std::move(sentence));
      continue;
    }
    std::vector<LinePart> cut = cut_around_unknown(sentence.text, spans);
    cut.front().spaced = sentence.spaced;
    cut.front().inside_word = sentence.inside_word;
    for (LinePart& part : cut) parts.push_back(std::move(part));
  }
  return parts;
}

// Adds the parts of a sentence, which is cut when it is too long.
void add_sentence(const formats::Model& model, LinePart sentence, const TranslateOptions& options, Line& line) {
  const auto fits = fitting(model, options);
  std::vector<LinePart> parts;
  if (fits(sentence.text)) {
    parts.push_back(std::move(sentence));
  } else {
    parts = cut_line(sentence.text, fits, options.splitter);
    if (!parts.empty()) parts.front().spaced = sentence.spaced;
    line.cut = true;
  }
  for (LinePart& part : parts) line.parts.push_back(part_of(model, std::move(part), options));
}

std::vector<std::string> words_to_write(const formats::Model& model, const Part& part, const Hypothesis& hypothesis,
                                        const TranslateOptions& options) {
  const std::int32_t unk = model.target.unk();
  if (options.unknown != Unknown::copy ||
      std::find(hypothesis.tokens.begin(), hypothesis.tokens.end(), unk) == hypothesis.tokens.end()) {
    return {};
  }
  return copied_words(model, part.line.text, hypothesis, options.alignment);
}

// The text of a hypothesis.
std::string text_of(const formats::Model& model, const Part& part, const Hypothesis& hypothesis,
                    const TranslateOptions& options) {
  const std::vector<std::string> copied = words_to_write(model, part, hypothesis, options);
  if (copied.empty()) return model.target.decode(hypothesis.tokens);
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < hypothesis.tokens.size(); ++i) {
    const std::int32_t token = hypothesis.tokens[i];
    pieces.push_back(token == model.target.unk() ? copied[i] : model.target.piece(token));
  }
  return model.target.decode_pieces(pieces);
}

// Adds the words of a hypothesis with their scores.
void add_words(const formats::Model& model, const Hypothesis& hypothesis, Alternative& result) {
  constexpr std::string_view kSpace = "\xE2\x96\x81";
  const auto wide = [](std::string_view piece) {
    return !piece.empty() && static_cast<unsigned char>(piece[0]) >= 0xE3;
  };
  std::vector<std::int32_t> ids;
  bool joins = false;  // the next piece goes on with the last word
  for (std::size_t i = 0; i < hypothesis.tokens.size(); ++i) {
    const std::string& piece = model.target.piece(hypothesis.tokens[i]);
    if (!joins || piece.starts_with(kSpace) || wide(piece)) {
      ids.clear();
      result.words.emplace_back();
    }
    ids.push_back(hypothesis.tokens[i]);
    result.words.back().text = model.target.decode(ids);
    result.words.back().log_probability += static_cast<double>(hypothesis.token_log_probabilities[i]);
    joins = piece == kSpace || !wide(piece.starts_with(kSpace) ? std::string_view(piece).substr(kSpace.size()) : piece);
  }
  if (hypothesis.finished) result.end_log_probability += static_cast<double>(hypothesis.token_log_probabilities.back());
}

// Adds the rows of a part, which looks at source tokens from `column` on.
void add_alignment(const formats::Model& model, const Part& part, const Hypothesis& hypothesis, std::size_t column,
                   std::size_t columns, const AlignmentOptions& options, Alternative& result) {
  std::vector<std::int32_t> target = hypothesis.tokens;
  if (hypothesis.finished) target.push_back(model.target.eos());
  if (target.empty()) return;
  for (const std::vector<float>& row : alignment_of(model, part.tokens, target, options)) {
    std::vector<float>& whole = result.alignment.emplace_back(columns, 0.0F);
    std::copy(row.begin(), row.end(), whole.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

std::size_t source_tokens(const Line& line) {
  std::size_t count = 0;
  for (const Part& part : line.parts) count += part.tokens.size();
  return count;
}

// Alternative `rank` of a line from the hypotheses of its parts: of a part with fewer its last.
Alternative alternative_of(const formats::Model& model, const Line& line, std::size_t rank,
                           const TranslateOptions& options) {
  Alternative result;
  std::vector<std::string> texts;
  std::vector<LinePart> parts;
  std::int64_t length = 0;
  std::size_t column = 0;
  std::int64_t searched = 0;
  for (const Part& part : line.parts) {
    parts.push_back(part.line);
    if (part.line.verbatim) {
      texts.push_back(part.line.text);
      continue;
    }
    const Hypothesis& hypothesis = part.found[std::min(rank, part.found.size() - 1)];
    texts.push_back(text_of(model, part, hypothesis, options));
    result.tokens.insert(result.tokens.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
    for (const std::int32_t token : hypothesis.tokens) result.pieces.push_back(model.target.piece(token));
    result.log_probability += hypothesis.log_probability;
    result.finished = result.finished && hypothesis.finished;
    length += std::ssize(hypothesis.token_log_probabilities);
    result.score = hypothesis.score;
    ++searched;
    add_words(model, hypothesis, result);
    if (options.alignment.on) {
      add_alignment(model, part, hypothesis, column, source_tokens(line), options.alignment, result);
    }
    column += part.tokens.size();
  }
  result.text = join_parts(parts, texts);
  if (searched > 1 && length > 0) {
    result.score = result.log_probability / length_penalty(options.search.length_penalty, options.search.alpha, length);
  }
  return result;
}

}  // namespace

std::int64_t position_limit(const nn::Config& config) {
  return config.positions == nn::Positions::learned ? config.max_positions : std::int64_t{1} << 40;
}

Line read_line(const formats::Model& model, const std::string& text, const TranslateOptions& options,
               const LineOptions& own) {
  Line line;
  if (text::blank(text)) return line;
  line.text = text::replace_invalid_utf8(text);
  const bool asked = !own.prefix.empty() || !own.phrases.empty();
  std::vector<LinePart> sentences;
  if (asked || !options.split) {
    sentences.push_back({.text = line.text});
  } else {
    sentences = split_line(line.text, options.splitter);
  }
  if (!asked && options.split && options.protect) sentences = around_repeats(model, sentences, options);
  if (!asked && options.protect && options.unknown != Unknown::keep) {
    sentences = around_unknown(model, std::move(sentences), options);
  }
  for (LinePart& sentence : sentences) {
    sentence.verbatim = sentence.verbatim || (!asked && is_kept(model, sentence.text, options));
    if (sentence.verbatim) {
      line.parts.push_back({.line = std::move(sentence), .tokens = {}, .own = {}, .found = {}, .first = {}});
    } else {
      add_sentence(model, std::move(sentence), options, line);
    }
  }
  if (line.parts.empty()) return line;
  SentenceOptions& first = line.parts.front().own;
  line.parts.front().asked = line.parts.front().asked || asked;
  if (!own.prefix.empty()) {
    first.prefix = model.target.encode(text::nfc(own.prefix));
    const std::int64_t room = position_limit(model.transformer->config()) - 1;
    base::check(std::ssize(first.prefix) <= room, "translate: a prefix of {} pieces, expected at most {}",
                first.prefix.size(), room);
    const bool unknown = std::find(first.prefix.begin(), first.prefix.end(), model.target.unk()) != first.prefix.end();
    base::check(!unknown, "translate: the prefix '{}' has characters that the model's vocabulary lacks", own.prefix);
  }
  for (const std::vector<std::string>& phrase : own.phrases)
    first.phrases.push_back(ways_to_write(model.target, phrase));
  return line;
}

Loss loss_of(const formats::Model& model, const Part& part) {
  if (part.line.verbatim) return Loss::none;
  const std::string source = text::nfc(part.line.text);
  const std::vector<std::string> wanted = protected_texts(source);
  const std::string text = model.target.decode(part.found.front().tokens);
  const bool kept = protected_texts(text) == wanted && (wanted.empty() || part.found.front().finished);
  if (!kept) return Loss::protected_text;
  const LostNumbers lost = lost_numbers(source, text);
  return !lost.digits.empty() ? Loss::number : !lost.signs.empty() ? Loss::sign : Loss::none;
}

void demand_protected(const formats::Model& model, Part& part, const TranslateOptions& options) {
  std::vector<std::string> texts = protected_texts(part.line.text);
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  LostNumbers lost = lost_numbers(part.line.text, model.target.decode(part.found.front().tokens));
  lost.digits.insert(lost.digits.end(), lost.signs.begin(), lost.signs.end());
  for (std::string& number : lost.digits) {
    if (!is_banned(number, options)) texts.push_back(std::move(number));
  }
  part.first = part.found;
  for (const std::string& text : texts) {
    if (Phrase ways = ways_of(model.target, {text}); !ways.empty()) part.own.phrases.push_back(std::move(ways));
  }
}

void choose_search(const formats::Model& model, Part& part) {
  const auto lacks_of = [&] { return part.found.front().finished ? loss_of(model, part) : Loss::protected_text; };
  const Loss second = lacks_of();
  if (second == Loss::none) return;
  std::swap(part.found, part.first);
  const Loss first = loss_of(model, part);
  if (first > second) std::swap(part.found, part.first);
}

std::vector<Part> around_protected(const formats::Model& model, const Part& part, const TranslateOptions& options) {
  std::vector<Part> pieces;
  std::vector<ProtectedSpan> spans = protected_spans(part.line.text);
  for (const ProtectedSpan& number : number_spans(part.line.text)) {
    const std::string_view text = std::string_view(part.line.text).substr(number.begin, number.end - number.begin);
    if (!is_banned(text, options)) spans.push_back(number);
  }
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<LinePart> lines = cut_around(part.line.text, spans);
  if (!lines.empty()) {
    lines.front().inside_word = part.line.inside_word;
    lines.front().spaced = part.line.spaced;
  }
  const bool all_blank = std::all_of(lines.begin(), lines.end(), [](const LinePart& l) { return l.verbatim; });
  for (LinePart& line : lines) {
    if (line.verbatim) {
      pieces.push_back({.line = std::move(line), .tokens = {}, .own = {}, .found = {}, .first = {}});
      continue;
    }
    TranslateOptions plain = options;
    plain.glossary.clear();
    pieces.push_back(part_of(model, std::move(line), plain));
  }
  if (!all_blank && !part.own.prefix.empty()) {
    for (Part& piece : pieces) {
      if (piece.line.verbatim) continue;
      piece.own.prefix = part.own.prefix;
      break;
    }
  }
  return pieces;
}

Translation translation_of(const formats::Model& model, const Line& line, const TranslateOptions& options) {
  Translation result;
  result.cut = line.cut;
  std::size_t ranks = line.parts.empty() ? 0 : 1;
  for (const Part& part : line.parts) {
    result.parts += part.line.verbatim ? 0 : 1;
    result.source_tokens += std::ssize(part.tokens);
    ranks = std::max(ranks, part.found.size());
    if (!options.alignment.on) continue;
    for (const std::int32_t token : part.tokens) result.source_pieces.push_back(model.source.piece(token));
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    result.alternatives.push_back(alternative_of(model, line, rank, options));
  }
  // Of one part they are in order already; sums over parts may not be.
  std::stable_sort(result.alternatives.begin(), result.alternatives.end(),
                   [](const Alternative& a, const Alternative& b) {
                     return a.finished != b.finished ? a.finished : a.score > b.score;
                   });
  if (ranks > 0) {
    result.text = result.alternatives.front().text;
    result.score = result.alternatives.front().score;
  }
  return result;
}

}  // namespace zhuyi::infer
