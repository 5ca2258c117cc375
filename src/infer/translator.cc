#include "infer/translator.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "infer/line_parts.h"
#include "text/normalize.h"
#include "text/piece_model.h"
#include "text/utf8.h"

namespace zhuyi::infer {
namespace {

constexpr std::int64_t kLongestScored = 4096;    // tokens of one side
constexpr std::int64_t kLeastSourceTokens = 16;  // the longest encoding of one character fits

std::vector<formats::Model> one(formats::Model model) {
  std::vector<formats::Model> models;
  models.push_back(std::move(model));
  return models;
}

// The scripts that one model or another has learnt to read; none when those of one are not known.
std::vector<std::string> scripts_of_any(const std::vector<formats::Model>& models) {
  std::set<std::string> scripts;
  for (const formats::Model& model : models) {
    if (model.source_scripts.empty()) return {};
    scripts.insert(model.source_scripts.begin(), model.source_scripts.end());
  }
  return {scripts.begin(), scripts.end()};
}

std::shared_ptr<const std::vector<formats::Model>> packed(std::vector<formats::Model> models) {
  base::check(!models.empty(), "translator: no model");
  for (const formats::Model& model : models) {
    base::check(model.source.serialized() == models.front().source.serialized() &&
                    model.target.serialized() == models.front().target.serialized() &&
                    model.transformer->bos() == models.front().transformer->bos(),
                "translator: an ensemble of models with different tokenizers; they must have learnt one vocabulary");
    model.transformer->pack();
  }
  models.front().source_scripts = scripts_of_any(models);
  return std::make_shared<const std::vector<formats::Model>>(std::move(models));
}

void check_options(const TranslateOptions& options) {
  base::check(options.max_source_tokens >= kLeastSourceTokens,
              "translate: max_source_tokens is {}, expected {} or more", options.max_source_tokens, kLeastSourceTokens);
  base::check(
      options.search.n_best >= 1 && (options.search.sampling.on || options.search.n_best <= options.search.beam_size),
      "translate: n_best is {} with a beam of {}; expected 1 to the beam's size", options.search.n_best,
      options.search.beam_size);
}

// What each token adds to a text.
std::shared_ptr<const std::vector<std::string>> token_texts(const text::Tokenizer& tokenizer) {
  constexpr std::string_view kSpace = "\xE2\x96\x81";
  auto texts = std::make_shared<std::vector<std::string>>();
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    const std::string& piece = tokenizer.piece(id);
    std::string text;
    if (const int byte = text::byte_value(piece); tokenizer.byte_fallback() && byte >= 0) {
      text.push_back(static_cast<char>(byte));
    } else if (id != tokenizer.bos() && id != tokenizer.eos() && id != tokenizer.pad()) {
      for (std::size_t at = 0; at < piece.size();) {
        const bool space = std::string_view(piece).substr(at).starts_with(kSpace);
        text.push_back(space ? ' ' : piece[at]);
        at += space ? kSpace.size() : 1;
      }
    }
    texts->push_back(std::move(text));
  }
  return texts;
}

// The ids of pieces with spaces between.
std::vector<std::int32_t> ids_of(const text::Tokenizer& tokenizer, const std::string& line, std::int64_t number) {
  std::vector<std::int32_t> ids;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    if (end > begin) ids.push_back(tokenizer.id(std::string_view(line).substr(begin, end - begin)));
    base::check_kind(ids.empty() || ids.back() >= 0, base::ErrorKind::bad_file,
                     "line {}: the vocabulary has no piece '{}'", number, line.substr(begin, end - begin));
    begin = end + 1;
  }
  return ids;
}

// The parts of the lines that the model reads, for which `wanted` holds.
template <class Wanted>
std::vector<Part*> parts_of(std::vector<Line>& lines, const Wanted& wanted) {
  std::vector<Part*> parts;
  for (Line& line : lines) {
    for (Part& part : line.parts) {
      if (!part.line.verbatim && wanted(part)) parts.push_back(&part);
    }
  }
  return parts;
}

void find(std::span<const Member> members, std::span<Part* const> parts, const SearchOptions& search,
          const TranslateOptions& options) {
  std::vector<std::vector<std::int32_t>> sources;
  std::vector<SentenceOptions> own;
  for (const Part* part : parts) {
    sources.push_back(part->tokens);
    own.push_back(part->own);
  }
  BatchLimits batches = options.batches;
  if (options.interrupted) batches.interrupted = options.interrupted;
  std::vector<std::vector<Hypothesis>> found = translate_tokens(members, sources, search, batches, own);
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i]->found = std::move(found[i]);
}

}  // namespace

SearchOptions search_options(const formats::Model& model) {
  SearchOptions options;
  options.bos = model.transformer->bos();
  options.eos = model.target.eos();
  options.max_length = std::min(options.max_length, position_limit(model.transformer->config()));
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  const auto control_byte = [&](const std::string& piece) {
    return piece.size() == 6 && piece.starts_with("<0x") && (piece[3] == '0' || piece[3] == '1' || piece == "<0x7F>");
  };
  for (std::int32_t id = 0; id < model.target.size(); ++id) {
    if (id == options.eos) continue;
    const std::string& piece = model.target.piece(id);
    const bool special =
        id == options.bos || id == model.target.unk() || id == model.target.bos() || id == model.target.pad();
    if (special || control_byte(piece) || std::any_of(piece.begin(), piece.end(), control)) {
      options.suppressed.push_back(id);
    }
  }
  return options;
}

Translator::Translator(formats::Model model) : Translator(one(std::move(model))) {}

Translator::Translator(std::vector<formats::Model> models, std::vector<double> weights)
    : models_(packed(std::move(models))) {
  base::check(weights.empty() || weights.size() == models_->size(), "translator: {} models, {} weights",
              models_->size(), weights.size());
  for (std::size_t i = 0; i < models_->size(); ++i) {
    members_.push_back({(*models_)[i].transformer.get(), weights.empty() ? 1 : weights[i]});
  }
  TransformerScorer check(members_);  // throws what is wrong with them
}

TranslateOptions Translator::defaults() const {
  TranslateOptions options;
  options.search = search_options(model());
  return options;
}

SearchOptions Translator::search_of(const TranslateOptions& options) const {
  SearchOptions search = options.search;
  for (const std::string& text : options.banned) {
    base::check(!text.empty(), "translate: an empty text is banned, expected one character or more");
    search.banned_texts.push_back(text::nfc(text));
  }
  if (!search.banned_texts.empty() && search.token_texts == nullptr) search.token_texts = token_texts(model().target);
  if (options.unknown != Unknown::forbid) std::erase(search.suppressed, model().target.unk());
  return search;
}

std::vector<Translation> Translator::translate(std::span<const std::string> lines, const TranslateOptions& options,
                                               std::span<const LineOptions> own) const {
  check_options(options);
  base::check(own.empty() || own.size() == lines.size(), "translate: {} lines, options of {}", lines.size(),
              own.size());
  const SearchOptions search = search_of(options);
  std::vector<Line> read;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    read.push_back(read_line(model(), lines[i], options, own.empty() ? LineOptions{} : own[i]));
  }
  find(members_, parts_of(read, [](const Part&) { return true; }), search, options);
  if (options.protect) keep_protected(read, search, options);
  std::vector<Translation> translations;
  for (const Line& line : read) translations.push_back(translation_of(model(), line, options));
  return translations;
}

// Parts that lost or changed something are searched again with the demand that it occurs; those for which that fails
// are translated around it. For the sign of a currency that is not done, and a number is demanded only where something
// else was asked of the part, which the pieces around it could not fulfil: demanded numbers end up in odd positions.
void Translator::keep_protected(std::vector<Line>& lines, const SearchOptions& search,
                                const TranslateOptions& options) const {
  const std::vector<Part*> again = parts_of(lines, [&](const Part& part) {
    const Loss loss = loss_of(model(), part);
    return loss != Loss::none && (loss != Loss::number || part.asked);
  });
  for (Part* part : again) demand_protected(model(), *part, options);
  find(members_, again, search, options);
  for (Part* part : again) choose_search(model(), *part);
  for (Line& line : lines) {
    std::vector<Part> parts;
    for (Part& part : line.parts) {
      const Loss loss = loss_of(model(), part);
      if (loss == Loss::protected_text || (loss == Loss::number && !part.asked)) {
        for (Part& piece : around_protected(model(), part, options)) parts.push_back(std::move(piece));
      } else {
        parts.push_back(std::move(part));
      }
    }
    line.parts = std::move(parts);
  }
  find(members_, parts_of(lines, [](const Part& part) { return part.found.empty(); }), search, options);
}

std::vector<ScoredPair> Translator::score(std::span<const std::string> sources, std::span<const std::string> targets,
                                          const BatchLimits& batches, std::int64_t first, bool pieces) const {
  base::check(sources.size() == targets.size(), "score: {} sources and {} targets", sources.size(), targets.size());
  const std::int64_t longest = std::min(kLongestScored, position_limit(model().transformer->config()));
  const auto encode = [&](const text::Tokenizer& tokenizer, const std::string& line, std::size_t i, const char* side,
                          bool as_pieces) {
    std::vector<std::int32_t> ids =
        as_pieces ? ids_of(tokenizer, line, first + static_cast<std::int64_t>(i)) : tokenizer.encode(line);
    ids.push_back(tokenizer.eos());
    base::check_kind(std::ssize(ids) <= longest, base::ErrorKind::bad_file,
                     "line {}: the {} has {} tokens, expected at most {}; score its sentences one by one",
                     first + static_cast<std::int64_t>(i), side, ids.size(), longest);
    return ids;
  };
  std::vector<std::vector<std::int32_t>> source_ids;
  std::vector<std::vector<std::int32_t>> target_ids;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    source_ids.push_back(encode(model().source, sources[i], i, "source", false));
    target_ids.push_back(encode(model().target, targets[i], i, "target", pieces));
  }
  std::vector<ScoredPair> scored;
  for (std::vector<float>& tokens : score_tokens(members_, source_ids, target_ids, batches)) {
    double sum = 0;
    for (const float token : tokens) sum += static_cast<double>(token);
    scored.push_back({sum, std::move(tokens)});
  }
  return scored;
}

bool Translator::can_score(const std::string& source, const std::string& target) const {
  const std::int64_t longest = std::min(kLongestScored, position_limit(model().transformer->config()));
  return std::ssize(model().source.encode(source)) < longest && std::ssize(model().target.encode(target)) < longest;
}

CrossAttention Translator::attention(const std::string& line, const TranslateOptions& options) const {
  check_options(options);
  TranslateOptions all = options;
  all.protect = false;  // a line of figures is looked at, too
  const Line read = read_line(model(), line, all, {});
  base::check(!read.parts.empty(), "attention: the line is blank, expected a sentence");
  const std::span<const std::vector<std::int32_t>> part(&read.parts.front().tokens, 1);
  const Hypothesis best = translate_tokens(members_, part, search_of(options), options.batches)[0].front();
  std::vector<std::int32_t> target = best.tokens;
  if (best.finished) target.push_back(model().target.eos());
  return cross_attention(model(), part[0], target);
}

}  // namespace zhuyi::infer
