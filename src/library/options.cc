#include "library/options.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "infer/alignment.h"
#include "library/guarded.h"

namespace zhuyi::library {
namespace {

infer::LengthPenalty form_of(LengthPenalty form) {
  if (form == LengthPenalty::power) return infer::LengthPenalty::power;
  return form == LengthPenalty::none ? infer::LengthPenalty::none : infer::LengthPenalty::gnmt;
}

infer::Stop stop_of(Stop stop) {
  if (stop == Stop::beam_finished) return infer::Stop::beam_finished;
  return stop == Stop::first_finished ? infer::Stop::first_finished : infer::Stop::bound;
}

infer::Unknown unknown_of(Unknown unknown) {
  if (unknown == Unknown::keep) return infer::Unknown::keep;
  return unknown == Unknown::copy ? infer::Unknown::copy : infer::Unknown::forbid;
}

// The options of a model's search with what was asked for.
infer::SearchOptions search_options_of(const Options& options, const text::Tokenizer& tokenizer,
                                       infer::SearchOptions search) {
  search.beam_size = options.beam;
  search.n_best = options.rescorer == nullptr ? options.n_best : std::max(options.n_best, options.beam);
  search.length_penalty = form_of(options.length_penalty);
  search.alpha = options.alpha;
  search.coverage_penalty = options.coverage_penalty;
  search.repetition_penalty = options.repetition_penalty;
  search.no_repeat_ngram = options.no_repeat_ngram;
  search.max_repeats = options.max_repeats;
  search.max_length_factor = options.max_length_factor;
  search.max_length_extra = options.max_length_extra;
  search.max_length = std::min(search.max_length, options.max_length);
  search.min_length = options.min_length;
  search.min_length_factor = options.min_length_factor;
  search.stop = stop_of(options.stop);
  search.patience = options.patience;
  search.sampling = {.on = options.sample,
                     .temperature = options.temperature,
                     .top_k = options.top_k,
                     .top_p = options.top_p,
                     .seed = options.seed};
  base::within("options", [&] {
    for (const std::vector<std::string>* list : {&options.suppress_pieces, &options.suppressed_pieces}) {
      const std::vector<std::int32_t> ids = tokenizer.ids(*list);
      search.suppressed.insert(search.suppressed.end(), ids.begin(), ids.end());
    }
    for (const auto* sequences : {&options.ban_pieces, &options.banned_pieces}) {
      for (const std::vector<std::string>& sequence : *sequences) search.banned.push_back(tokenizer.ids(sequence));
    }
  });
  return search;
}

Alternative public_form(infer::Alternative found) {
  Alternative result{.text = std::move(found.text),
                     .score = found.score,
                     .log_probability = found.log_probability,
                     .finished = found.finished,
                     .pieces = std::move(found.pieces),
                     .words = {},
                     .end_log_probability = found.end_log_probability,
                     .attention = {},
                     .alignment = {}};
  for (infer::WordScore& word : found.words) result.words.push_back({std::move(word.text), word.log_probability});
  for (const auto& [source, target] : infer::hard_alignment(found.alignment)) {
    result.alignment.push_back({source, target});
  }
  result.attention = std::move(found.alignment);
  return result;
}

}  // namespace

ErrorKind public_kind(base::ErrorKind kind) {
  switch (kind) {
    case base::ErrorKind::invalid_argument:
      return ErrorKind::invalid_argument;
    case base::ErrorKind::not_found:
      return ErrorKind::not_found;
    case base::ErrorKind::bad_file:
      return ErrorKind::bad_file;
    case base::ErrorKind::bad_model:
      return ErrorKind::bad_model;
    case base::ErrorKind::unsupported:
      return ErrorKind::unsupported;
    case base::ErrorKind::system:
      return ErrorKind::system;
    case base::ErrorKind::interrupted:
      return ErrorKind::interrupted;
    case base::ErrorKind::internal:
      break;
  }
  return ErrorKind::internal;
}

infer::TranslateOptions translate_options(const Options& options, const LoadedTranslator& loaded,
                                          std::shared_ptr<const infer::Shortlist> shortlist) {
  base::check(
      options.alignment_layer >= 0 && options.alignment_head >= 0,
      "options: alignment_layer is {} and alignment_head {}; they count from 1, and 0 is the last layer and the "
      "mean of the heads",
      options.alignment_layer, options.alignment_head);
  base::check(options.n_best >= 1, "options: n_best is {}, expected 1 or more", options.n_best);
  infer::TranslateOptions how = loaded.defaults;
  how.search = search_options_of(options, loaded.translator.model().target, std::move(how.search));
  how.search.shortlist = std::move(shortlist);
  how.batches.sentences = options.batch;
  how.batches.source_tokens = options.batch_tokens;
  how.batches.memory = options.memory;
  how.max_source_tokens = options.max_source_tokens;
  how.split = options.split;
  if (options.language != Options().language) how.splitter = text::SentenceSplitter(options.language);
  how.protect = options.protect;
  how.banned = options.ban;
  how.banned.insert(how.banned.end(), options.banned.begin(), options.banned.end());
  for (const GlossaryEntry& entry : options.glossary) how.glossary.push_back({entry.source, entry.targets});
  how.unknown = unknown_of(options.unknown);
  how.alignment = {.on = options.alignment, .layer = options.alignment_layer - 1, .head = options.alignment_head - 1};
  how.interrupted = options.interrupted;
  return how;
}

std::vector<infer::LineOptions> line_options(const Options& options, std::span<const LineOptions> own,
                                             std::size_t lines) {
  base::check(own.empty() || own.size() == lines, "options: {} lines, but options of {}", lines, own.size());
  std::vector<infer::LineOptions> result;
  for (const LineOptions& line : own) result.push_back({line.prefix, line.phrases});
  if (own.empty() && !(options.prefix.empty() && options.phrases.empty())) {
    result.assign(lines, {options.prefix, options.phrases});
  }
  return result;
}

Translation public_form(infer::Translation found) {
  Translation result{.text = std::move(found.text),
                     .score = found.score,
                     .alternatives = {},
                     .parts = found.parts,
                     .cut = found.cut,
                     .source_pieces = std::move(found.source_pieces)};
  for (infer::Alternative& alternative : found.alternatives) {
    result.alternatives.push_back(public_form(std::move(alternative)));
  }
  return result;
}

}  // namespace zhuyi::library
