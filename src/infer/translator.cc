#include "infer/translator.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "infer/long_lines.h"
#include "text/normalize.h"
#include "text/utf8.h"

namespace zhuyi::infer {
namespace {

constexpr std::int64_t kLongestScored = 4096;    // tokens of one side
constexpr std::int64_t kLeastSourceTokens = 16;  // the longest encoding of one character fits

// What the model reads for a line.
struct Source {
  std::string text;  // well-formed
  std::vector<LinePart> parts;
  std::vector<std::vector<std::int32_t>> tokens;  // of each part, ended by eos
};

std::vector<formats::Model> one(formats::Model model) {
  std::vector<formats::Model> models;
  models.push_back(std::move(model));
  return models;
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
  return std::make_shared<const std::vector<formats::Model>>(std::move(models));
}

// Positions that the model has, or a number out of reach.
std::int64_t positions_of(const nn::Config& config) {
  return config.positions == nn::Positions::learned ? config.max_positions : std::int64_t{1} << 40;
}

void check_options(const TranslateOptions& options) {
  base::check(options.max_source_tokens >= kLeastSourceTokens,
              "translate: max_source_tokens is {}, expected {} or more", options.max_source_tokens, kLeastSourceTokens);
  base::check(options.search.n_best >= 1 && options.search.n_best <= options.search.beam_size,
              "translate: n_best is {} with a beam of {}; expected 1 to the beam's size", options.search.n_best,
              options.search.beam_size);
}

Source read_line(const formats::Model& model, const std::string& line, std::int64_t max_tokens) {
  Source source;
  if (text::blank(line)) return source;
  source.text = text::replace_invalid_utf8(line);
  source.parts =
      cut_line(source.text, [&](std::string_view part) { return std::ssize(model.source.encode(part)) <= max_tokens; });
  for (const LinePart& part : source.parts) {
    source.tokens.push_back(model.source.encode(part.text));
    source.tokens.back().push_back(model.source.eos());
  }
  return source;
}

// Alternative `rank` of a line from the hypotheses of its parts: of a part with fewer its last.
Alternative alternative_of(const formats::Model& model, const Source& source,
                           std::span<const std::vector<Hypothesis>> found, std::size_t rank,
                           const SearchOptions& options) {
  Alternative result;
  std::vector<std::string> texts;
  std::int64_t length = 0;
  for (const std::vector<Hypothesis>& hypotheses : found) {
    const Hypothesis& hypothesis = hypotheses[std::min(rank, hypotheses.size() - 1)];
    texts.push_back(model.target.decode(hypothesis.tokens));
    result.tokens.insert(result.tokens.end(), hypothesis.tokens.begin(), hypothesis.tokens.end());
    result.log_probability += hypothesis.log_probability;
    result.finished = result.finished && hypothesis.finished;
    length += std::ssize(hypothesis.token_log_probabilities);
  }
  result.text = join_parts(source.parts, texts);
  if (length > 0) {
    result.score = result.log_probability / length_penalty(options.length_penalty, options.alpha, length);
  }
  return result;
}

Translation translation_of(const formats::Model& model, const Source& source,
                           std::span<const std::vector<Hypothesis>> found, const SearchOptions& options) {
  Translation result;
  result.parts = std::ssize(source.parts);
  std::size_t ranks = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    result.source_tokens += std::ssize(source.tokens[i]);
    ranks = std::max(ranks, found[i].size());
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    result.alternatives.push_back(alternative_of(model, source, found, rank, options));
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

// Source tokens of a part, eos left out.
std::int64_t part_limit(const formats::Model& model, const TranslateOptions& options) {
  return std::min(options.max_source_tokens, positions_of(model.transformer->config()) - 1);
}

}  // namespace

SearchOptions search_options(const formats::Model& model) {
  SearchOptions options;
  options.bos = model.transformer->bos();
  options.eos = model.target.eos();
  options.max_length = std::min(options.max_length, positions_of(model.transformer->config()));
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

std::vector<Translation> Translator::translate(std::span<const std::string> lines,
                                               const TranslateOptions& options) const {
  check_options(options);
  std::vector<Source> sources;
  std::vector<std::vector<std::int32_t>> tokens;
  for (const std::string& line : lines) {
    sources.push_back(read_line(model(), line, part_limit(model(), options)));
    for (const std::vector<std::int32_t>& part : sources.back().tokens) tokens.push_back(part);
  }
  BatchLimits batches = options.batches;
  batches.interrupted = options.interrupted;
  const std::vector<std::vector<Hypothesis>> found = translate_tokens(members_, tokens, options.search, batches);
  std::vector<Translation> translations;
  std::span<const std::vector<Hypothesis>> rest = found;
  for (const Source& source : sources) {
    const std::size_t parts = source.parts.size();
    translations.push_back(translation_of(model(), source, rest.first(parts), options.search));
    rest = rest.subspan(parts);
  }
  return translations;
}

std::vector<ScoredPair> Translator::score(std::span<const std::string> sources, std::span<const std::string> targets,
                                          const BatchLimits& batches, std::int64_t first) const {
  base::check(sources.size() == targets.size(), "score: {} sources and {} targets", sources.size(), targets.size());
  const std::int64_t longest = std::min(kLongestScored, positions_of(model().transformer->config()));
  const auto encode = [&](const text::Tokenizer& tokenizer, const std::string& line, std::size_t i, const char* side) {
    std::vector<std::int32_t> ids = tokenizer.encode(line);
    ids.push_back(tokenizer.eos());
    base::check_kind(std::ssize(ids) <= longest, base::ErrorKind::bad_file,
                     "line {}: the {} has {} tokens, expected at most {}; score its sentences one by one",
                     first + static_cast<std::int64_t>(i), side, ids.size(), longest);
    return ids;
  };
  std::vector<std::vector<std::int32_t>> source_ids;
  std::vector<std::vector<std::int32_t>> target_ids;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    source_ids.push_back(encode(model().source, sources[i], i, "source"));
    target_ids.push_back(encode(model().target, targets[i], i, "target"));
  }
  std::vector<ScoredPair> scored;
  for (std::vector<float>& tokens : score_tokens(members_, source_ids, target_ids, batches)) {
    double sum = 0;
    for (const float token : tokens) sum += static_cast<double>(token);
    scored.push_back({sum, std::move(tokens)});
  }
  return scored;
}

CrossAttention Translator::attention(const std::string& line, const TranslateOptions& options) const {
  check_options(options);
  const Source source = read_line(model(), line, part_limit(model(), options));
  base::check(!source.parts.empty(), "attention: the line is blank, expected a sentence");
  const std::span<const std::vector<std::int32_t>> part(source.tokens.data(), 1);
  const Hypothesis best = translate_tokens(members_, part, options.search, options.batches)[0].front();
  std::vector<std::int32_t> target = best.tokens;
  if (best.finished) target.push_back(model().target.eos());
  return cross_attention(model(), part[0], target);
}

}  // namespace zhuyi::infer
