// zhuyi translate: one line in, one line out.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/parallel.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/progress_bar.h"
#include "cli/translate_flags.h"
#include "cli/translation_output.h"
#include "infer/rescore.h"

namespace zhuyi::cli {
namespace {

// All that the translation of an input needs.
struct Job {
  const TranslateFlags& flags;
  const infer::Translator& translator;
  infer::TranslateOptions how;
  FormatOptions format;
  std::optional<infer::Translator> other;  // for rescoring
  std::optional<LineReader> prefixes;      // line n for line n
  std::optional<LineReader> phrases;       // likewise
  TranslationOutput& output;
  ProgressBar& bar;
  std::int64_t lines = 0;  // done
  std::int64_t words = 0;
  bool cut_told = false;
  bool unfinished_told = false;
  bool attention_done = false;
};

infer::Translator load(const TranslateFlags& flags) {
  std::vector<formats::Model> models;
  for (const std::string& path : flags.models) models.push_back(formats::load_model(path));
  return infer::Translator(std::move(models), flags.weights);
}

// Exactly `count` lines of a file that goes beside the input. Throws bad_file when it has fewer.
std::vector<std::string> lines_beside(LineReader& reader, std::size_t count, const std::string& name) {
  std::vector<std::string> lines;
  while (lines.size() < count) {
    const std::vector<std::string> more =
        reader.window(static_cast<std::int64_t>(count - lines.size()), [] { return false; });
    base::check_kind(!more.empty(), base::ErrorKind::bad_file, "{} has fewer lines than the text", name);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  return lines;
}

// "phrase|alternative TAB phrase" as phrases.
std::vector<std::vector<std::string>> phrases_of(const std::string& line) {
  std::vector<std::vector<std::string>> phrases;
  if (line.empty()) return phrases;
  phrases.push_back({""});
  for (const char c : line) {
    if (c == '\t') {
      phrases.push_back({""});
    } else if (c == '|') {
      phrases.back().emplace_back();
    } else {
      phrases.back().back() += c;
    }
  }
  return phrases;
}

std::vector<infer::LineOptions> asked_of(Job& job, std::size_t count) {
  if (job.flags.prefix.empty() && !job.prefixes && !job.phrases) return {};
  std::vector<infer::LineOptions> own(count);
  for (infer::LineOptions& line : own) line.prefix = job.flags.prefix;
  if (job.prefixes) {
    std::vector<std::string> prefixes = lines_beside(*job.prefixes, count, job.flags.prefixes);
    for (std::size_t i = 0; i < count; ++i) own[i].prefix = std::move(prefixes[i]);
  }
  if (job.phrases) {
    const std::vector<std::string> phrases = lines_beside(*job.phrases, count, job.flags.phrases);
    for (std::size_t i = 0; i < count; ++i) own[i].phrases = phrases_of(phrases[i]);
  }
  return own;
}

// Says once what may surprise.
void tell(const infer::Translation& translation, std::int64_t line, Job& job) {
  if (translation.cut && !job.cut_told) {
    job.cut_told = true;
    job.bar.hide();
    std::cerr << fmt::format(
        "zhuyi: line {} has a sentence longer than {} pieces, so it was translated in {} parts, which were joined; "
        "other such lines are treated alike (--max-source-tokens)\n",
        line, job.flags.max_source_tokens, translation.parts);
  }
  const bool unfinished = !translation.alternatives.empty() && !translation.alternatives.front().finished;
  if (unfinished && !job.unfinished_told) {
    job.unfinished_told = true;
    job.bar.hide();
    std::cerr << fmt::format(
        "zhuyi: line {}: the translation did not end within its maximum length; other such lines are not named "
        "(--max-length, --max-length-factor, --max-length-extra)\n",
        line);
  }
}

void draw_attention(const std::string& line, Job& job) {
  base::write_file(job.flags.attention, infer::attention_html(job.translator.attention(line, job.how), line));
  job.bar.hide();
  std::cerr << fmt::format("wrote {}\n", job.flags.attention);
  job.attention_done = true;
}

std::vector<infer::Translation> translations_of(const std::vector<std::string>& lines, Job& job) {
  const std::vector<infer::LineOptions> own = asked_of(job, lines.size());
  std::vector<infer::Translation> translations = job.translator.translate(lines, job.how, own);
  if (!job.other) return translations;
  translations = infer::rescored(std::move(translations), lines, *job.other, job.how.search,
                                 {.weight = job.flags.rescore_weight, .reverse = job.flags.rescore_reverse});
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, job.flags.n_best));
  for (infer::Translation& translation : translations) {
    if (translation.alternatives.size() > most) translation.alternatives.resize(most);
  }
  return translations;
}

void translate_window(const std::vector<std::string>& lines, Job& job) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<infer::Translation> translations = translations_of(lines, job);
  if (job.flags.timing) {
    job.format.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::string text;
  for (std::size_t i = 0; i < translations.size(); ++i) {
    const std::int64_t index = job.lines + static_cast<std::int64_t>(i);
    text += text_of(translations[i], lines[i], index, job.format);
    tell(translations[i], index + 1, job);
    if (!job.flags.attention.empty() && !job.attention_done && translations[i].parts > 0) draw_attention(lines[i], job);
    job.words += count_words(lines[i]);
  }
  job.output.write(text);
  job.lines += std::ssize(lines);
}

// Passes over the lines that the output has already.
void skip_done(LineReader& reader, Job& job) {
  while (job.lines < job.output.lines()) {
    const std::vector<std::string> lines =
        reader.window(std::min<std::int64_t>(4096, job.output.lines() - job.lines), interrupted);
    base::check_kind(!lines.empty() || interrupted(), base::ErrorKind::bad_file,
                     "{} has {} lines, more than the text; is it the output of another one?", job.flags.output,
                     job.output.lines());
    if (lines.empty()) return;
    asked_of(job, lines.size());
    job.lines += std::ssize(lines);
  }
}

// Translates all lines, or those until an interrupt.
void translate_all(LineReader& reader, Job& job) {
  const std::int64_t window = job.flags.line ? 1 : 16 * job.flags.batch * job.flags.threads;
  skip_done(reader, job);
  for (;;) {
    const std::vector<std::string> lines = reader.window(window, interrupted);
    if (lines.empty() || interrupted()) return;
    try {
      translate_window(lines, job);
    } catch (const base::Error& error) {
      if (error.kind() == base::ErrorKind::interrupted) return;
      throw;
    }
    job.bar.show(reader.consumed(), job.lines, job.words);
  }
}

void run(const TranslateFlags& flags) {
  base::set_threads(flags.threads);
  const infer::Translator translator = load(flags);
  infer::TranslateOptions how = options_of(flags, translator);
  how.interrupted = interrupted;
  translator.translate({}, how);  // options are wrong or right before anything is read
  LineReader reader(flags.file);
  catch_interrupts();
  TranslationOutput output(flags.output, flags.resume);
  ProgressBar bar(reader.size(), !flags.output.empty());
  Job job{.flags = flags,
          .translator = translator,
          .how = std::move(how),
          .format = format_of(flags),
          .other = std::nullopt,
          .prefixes = std::nullopt,
          .phrases = std::nullopt,
          .output = output,
          .bar = bar};
  if (!flags.rescore.empty()) job.other.emplace(formats::load_model(flags.rescore));
  if (!flags.prefixes.empty()) job.prefixes.emplace(flags.prefixes);
  if (!flags.phrases.empty()) job.phrases.emplace(flags.phrases);
  translate_all(reader, job);
  output.commit();
  bar.hide();
  if (!flags.attention.empty() && !job.attention_done) {
    std::cerr << fmt::format("zhuyi: no sentence to look at, {} was not written\n", flags.attention);
  }
  if (interrupted()) {
    base::fail(base::ErrorKind::interrupted, "interrupted: {} lines were translated and written{}", job.lines,
               flags.output.empty() ? "" : "; the same command with --resume goes on from there");
  }
  if (!flags.output.empty()) std::cout << flags.output << "\n";
}

}  // namespace

Action translate_command(CLI::App& app) {
  auto flags = std::make_shared<TranslateFlags>();
  flags->threads = base::threads();
  declare_translate(app, *flags);
  return [flags] { run(*flags); };
}

}  // namespace zhuyi::cli
