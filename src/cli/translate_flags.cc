#include "cli/translate_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/memory_text.h"
#include "infer/shortlist.h"

namespace zhuyi::cli {
namespace {

using base::check;

std::vector<std::string> split_at(const std::string& text, char sign) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(sign); end != std::string::npos; end = text.find(sign, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// Lines "source TAB target|target".
std::vector<infer::GlossaryEntry> read_glossary(const std::string& path) {
  std::vector<infer::GlossaryEntry> entries;
  std::int64_t number = 0;
  base::for_each_line(base::read_file(path), [&](std::string_view line) {
    ++number;
    if (line.empty()) return;
    const std::vector<std::string> columns = split_at(std::string(line), '\t');
    base::check_kind(columns.size() == 2 && !columns[0].empty() && !columns[1].empty(), base::ErrorKind::bad_file,
                     "{}, line {}: expected a source term, a tab and its translations with | between", path, number);
    entries.push_back({columns[0], split_at(columns[1], '|')});
  });
  return entries;
}

void declare_input(CLI::App& app, TranslateFlags& flags) {
  app.add_option("-m,--model", flags.models, "the model; given several times, an ensemble")
      ->required()
      ->allow_extra_args(false)
      ->option_text("MODEL");
  app.add_option("--weights", flags.weights, "weights of the models, one for each")
      ->delimiter(',')
      ->option_text("W,W,... [alike]");
  app.add_option("file", flags.file, "text to translate, one line at a time; - is standard input")
      ->option_text("FILE [-]");
  app.add_option("-o,--output", flags.output, "file for the translations, which appears when it is complete")
      ->option_text("FILE");
  app.add_flag("--resume", flags.resume,
               "that file as one that grows: what it has is kept, and the lines after it are translated");
  app.add_flag("--line", flags.line, "an answer to each line at once, even where many wait");
}

void declare_text(CLI::App& app, TranslateFlags& flags) {
  app.add_flag("--split,!--no-split", flags.split,
               "sentences of a line one by one, instead of the line as a whole [on]");
  app.add_option("--language", flags.language, "the language of the source, for the ends of its sentences")
      ->option_text(fmt::format("CODE [{}]", flags.language));
  app.add_option("--max-source-tokens", flags.max_source_tokens,
                 "pieces of a sentence; a longer one is cut where a reader would pause, translated in parts and joined")
      ->check(CLI::Range(16, 1 << 16))
      ->option_text(fmt::format("N [{}]", flags.max_source_tokens));
  app.add_flag("--protect,!--no-protect", flags.protect,
               "placeholders (%s, {0}), tags (<b>), URLs, e-mail addresses, unknown symbols and lost numbers as "
               "they are [on]");
  app.add_option("--prefix", flags.prefix, "text that every translation begins with, to the letter")
      ->option_text("TEXT");
  app.add_option("--prefixes", flags.prefixes, "prefixes of each line: line n of a file for line n")
      ->option_text("FILE");
  app.add_option("--phrases", flags.phrases,
                 "phrases that the translation of line n must have: line n of a file, with tabs between, each with its "
                 "alternatives with | between")
      ->option_text("FILE");
  app.add_option("--glossary", flags.glossary,
                 "terms, of which the translation must have a target where the source has the term: lines 'term TAB "
                 "target|target'")
      ->option_text("FILE");
  app.add_option("--ban", flags.banned, "A text that no translation has; may be given several times")
      ->allow_extra_args(false)
      ->option_text("TEXT");
  app.add_option("--ban-pieces", flags.banned_pieces,
                 "pieces with spaces between, which stand in no translation in a row; may be given several times")
      ->allow_extra_args(false)
      ->option_text("PIECES");
  app.add_option("--suppress-pieces", flags.suppressed_pieces,
                 "pieces with spaces between, of which no translation has any; may be given several times")
      ->allow_extra_args(false)
      ->option_text("PIECES");
  app.add_option("--shortlist", flags.shortlist,
                 "pieces that may be used for the words of a sentence: a file of zhuyi shortlist")
      ->option_text("FILE");
  app.add_option(
         "--unknown", flags.unknown,
         "characters that the vocabulary lacks: forbid (spelt in bytes or avoided), keep (as U+2047), copy (the "
         "source word looked at most)")
      ->check(CLI::IsMember({"forbid", "keep", "copy"}))
      ->option_text(fmt::format("NAME [{}]", flags.unknown));
}

void declare_output(CLI::App& app, TranslateFlags& flags) {
  app.add_option("--n-best", flags.n_best,
                 "the N best translations of each line, as lines 'number ||| text ||| score' counted from 0")
      ->check(CLI::Range(1, 65536))
      ->option_text("N");
  app.add_option("--format", flags.format,
                 "form of the output: plain; tsv: source, text and score; json: an object a line")
      ->check(CLI::IsMember({"plain", "json", "tsv"}))
      ->option_text(fmt::format("NAME [{}]", flags.format));
  app.add_flag("--score", flags.score, "score and a tab before each translation");
  app.add_flag("--word-scores", flags.word_scores, "log-probability of each word (json)");
  app.add_flag("--timing", flags.timing, "seconds from reading a line to its answer (json)");
  app.add_option("--alignment", flags.alignment,
                 "alignment to give: none; hard: for each target piece the source piece that it looks at most, as "
                 "'source-target'; soft: all weights (json)")
      ->check(CLI::IsMember({"none", "hard", "soft"}))
      ->option_text(fmt::format("NAME [{}]", flags.alignment));
  app.add_option("--alignment-layer", flags.alignment_layer, "decoder layer that it is taken from, from 1; 0: the last")
      ->check(CLI::Range(0, 1000))
      ->option_text("N [0]");
  app.add_option("--alignment-head", flags.alignment_head, "head that it is taken from, from 1; 0: the mean of all")
      ->check(CLI::Range(0, 1000))
      ->option_text("N [0]");
  app.add_option("--attention", flags.attention,
                 "picture of the encoder-decoder attention of the first sentence (HTML)")
      ->option_text("FILE");
}

void declare_work(CLI::App& app, TranslateFlags& flags) {
  app.add_option("--rescore", flags.rescore, "another model whose score is added to those of the n best")
      ->option_text("MODEL");
  app.add_option("--rescore-weight", flags.rescore_weight, "weight of that score")
      ->option_text(fmt::format("W [{}]", flags.rescore_weight));
  app.add_flag("--rescore-reverse", flags.rescore_reverse,
               "score of the source by that model, which reads the translation");
  app.add_option("--batch", flags.batch, "sentences translated together; changes the speed, never the text")
      ->check(CLI::Range(1, 65536))
      ->option_text(fmt::format("N [{}]", flags.batch));
  app.add_option("--batch-tokens", flags.batch_tokens, "source pieces translated together; changes the speed only")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text(fmt::format("N [{}]", flags.batch_tokens));
  app.add_option("--memory", flags.memory,
                 "memory that keys and values of all threads together stay within, such as 200M; batches are split")
      ->option_text("SIZE [no limit]");
  app.add_option("--threads", flags.threads, "threads")->check(CLI::Range(1, 1024))->option_text("N [all cores]");
}

}  // namespace

void declare_translate(CLI::App& app, TranslateFlags& flags) {
  declare_input(app, flags);
  declare_output(app, flags);
  declare_text(app, flags);
  declare_search(app, flags.search);
  declare_work(app, flags);
}

infer::TranslateOptions options_of(const TranslateFlags& flags, const infer::Translator& translator) {
  check(!flags.resume || !flags.output.empty(), "--resume goes on with a file: name it with --output");
  check(!flags.resume || flags.n_best == 0 || flags.format == "json",
        "--resume counts lines, so it goes with --n-best only in --format json");
  check(flags.prefix.empty() || flags.prefixes.empty(), "--prefix and --prefixes do not go together");
  const bool json = flags.format == "json";
  check(json || !flags.word_scores, "--word-scores need --format json");
  check(json || !flags.timing, "--timing needs --format json");
  check(json || flags.alignment != "soft", "--alignment soft needs --format json");
  check(flags.format != "tsv" || flags.alignment == "none", "--alignment does not go with --format tsv");
  infer::TranslateOptions how = translator.defaults();
  how.search = search_options_of(flags.search, how.search);
  how.search.n_best = std::max<std::int64_t>(1, flags.n_best);
  if (!flags.rescore.empty()) how.search.n_best = std::max(how.search.n_best, how.search.beam_size);
  how.batches.sentences = flags.batch;
  how.batches.source_tokens = flags.batch_tokens;
  how.batches.memory = base::memory_of(flags.memory, "--memory");
  how.max_source_tokens = flags.max_source_tokens;
  how.split = flags.split;
  how.splitter = text::SentenceSplitter(flags.language);
  how.protect = flags.protect;
  how.banned = flags.banned;
  const text::Tokenizer& pieces = translator.model().target;
  for (const std::string& sequence : flags.banned_pieces) {
    how.search.banned.push_back(pieces.ids(split_at(sequence, ' ')));
  }
  for (const std::string& list : flags.suppressed_pieces) {
    const std::vector<std::int32_t> ids = pieces.ids(split_at(list, ' '));
    how.search.suppressed.insert(how.search.suppressed.end(), ids.begin(), ids.end());
  }
  if (!flags.glossary.empty()) how.glossary = read_glossary(flags.glossary);
  if (!flags.shortlist.empty()) {
    how.search.shortlist =
        std::make_shared<infer::Shortlist>(infer::Shortlist::load(flags.shortlist, translator.model()));
  }
  how.unknown = flags.unknown == "forbid" ? infer::Unknown::forbid
                : flags.unknown == "keep" ? infer::Unknown::keep
                                          : infer::Unknown::copy;
  how.alignment = {
      .on = flags.alignment != "none", .layer = flags.alignment_layer - 1, .head = flags.alignment_head - 1};
  return how;
}

FormatOptions format_of(const TranslateFlags& flags) {
  return {.format = flags.format == "json"  ? Format::json
                    : flags.format == "tsv" ? Format::tsv
                                            : Format::plain,
          .n_best = flags.n_best,
          .score = flags.score,
          .word_scores = flags.word_scores,
          .hard_alignment = flags.alignment == "hard",
          .soft_alignment = flags.alignment == "soft"};
}

}  // namespace zhuyi::cli
