// zhuyi translate: one line in, one line out.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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
#include "cli/search_flags.h"
#include "infer/translator.h"

namespace zhuyi::cli {
namespace {

struct Options {
  std::string model;
  std::string file = "-";
  std::string output;
  std::string attention;
  SearchFlags search;
  std::int64_t n_best = 0;  // 0: one line a line
  std::int64_t batch = 32;
  std::int64_t batch_tokens = 4096;
  std::int64_t max_source_tokens = 256;
  int threads = base::threads();
  bool score = false;
  bool line = false;
};

// Where the translations go: standard output, or a file that appears once it is complete.
class Output {
 public:
  explicit Output(const std::string& path) {
    if (!path.empty()) file_.emplace(path);
  }

  void write(const std::string& text) {
    if (file_) {
      file_->write(text);
      return;
    }
    std::cout << text << std::flush;
    if (!std::cout) {
      base::fail(base::ErrorKind::system, "cannot write to standard output: {}", std::strerror(errno));
    }
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::optional<base::AtomicFile> file_;
};

// Counts over the whole input.
struct Progress {
  std::int64_t lines = 0;
  bool cut_told = false;
  bool attention_done = false;
};

std::string text_of(const infer::Translation& translation, std::int64_t line, const Options& options) {
  if (options.n_best == 0) {
    return options.score ? fmt::format("{:.6f}\t{}\n", translation.score, translation.text) : translation.text + "\n";
  }
  if (translation.alternatives.empty()) return fmt::format("{} |||  ||| 0.000000\n", line);
  std::string text;
  for (const infer::Alternative& alternative : translation.alternatives) {
    text += fmt::format("{} ||| {} ||| {:.6f}\n", line, alternative.text, alternative.score);
  }
  return text;
}

void tell_of_cut(const infer::Translation& translation, std::int64_t line, const Options& options, Progress& progress) {
  if (translation.parts <= 1 || progress.cut_told) return;
  progress.cut_told = true;
  std::cerr << fmt::format(
      "zhuyi: line {} is longer than {} pieces, so it was translated in {} parts, which were joined; other such lines "
      "are "
      "treated alike (--max-source-tokens)\n",
      line, options.max_source_tokens, translation.parts);
}

void translate_window(const infer::Translator& translator, const std::vector<std::string>& lines,
                      const infer::TranslateOptions& how, const Options& options, Output& output, Progress& progress) {
  const std::vector<infer::Translation> translations = translator.translate(lines, how);
  std::string text;
  for (std::size_t i = 0; i < translations.size(); ++i) {
    const std::int64_t index = progress.lines + static_cast<std::int64_t>(i);
    text += text_of(translations[i], index, options);
    tell_of_cut(translations[i], index + 1, options, progress);
    if (!options.attention.empty() && !progress.attention_done && translations[i].parts > 0) {
      base::write_file(options.attention, infer::attention_html(translator.attention(lines[i], how), lines[i]));
      std::cerr << fmt::format("wrote {}\n", options.attention);
      progress.attention_done = true;
    }
  }
  output.write(text);
  progress.lines += std::ssize(lines);
}

// Translates all lines, or those until an interrupt.
void translate_all(const infer::Translator& translator, const infer::TranslateOptions& how, const Options& options,
                   Output& output, Progress& progress) {
  LineReader reader(options.file);
  const std::int64_t window = options.line ? 1 : 4 * options.batch * options.threads;
  for (;;) {
    const std::vector<std::string> lines = reader.window(window, interrupted);
    if (lines.empty()) return;
    try {
      translate_window(translator, lines, how, options, output, progress);
    } catch (const base::Error& error) {
      if (error.kind() == base::ErrorKind::interrupted) return;
      throw;
    }
  }
}

void run(const Options& options) {
  base::set_threads(options.threads);
  const infer::Translator translator(formats::load_model(options.model));
  infer::TranslateOptions how = translator.defaults();
  apply(options.search, how.search);
  how.search.n_best = std::max<std::int64_t>(1, options.n_best);
  how.batches.sentences = options.batch;
  how.batches.source_tokens = options.batch_tokens;
  how.max_source_tokens = options.max_source_tokens;
  how.interrupted = interrupted;
  translator.translate({}, how);  // options are wrong or right before anything is read
  catch_interrupts();
  Output output(options.output);
  Progress progress;
  translate_all(translator, how, options, output, progress);
  output.commit();
  if (!options.attention.empty() && !progress.attention_done) {
    std::cerr << fmt::format("zhuyi: no sentence to look at, {} was not written\n", options.attention);
  }
  if (interrupted()) {
    base::fail(base::ErrorKind::interrupted, "interrupted: {} lines were translated and written", progress.lines);
  }
}

void declare_batches(CLI::App& app, Options& options) {
  app.add_option("--batch", options.batch, "Sentences translated together; changes the speed, never the text")
      ->check(CLI::Range(1, 65536))
      ->option_text(fmt::format("N [{}]", options.batch));
  app.add_option("--batch-tokens", options.batch_tokens, "Source pieces translated together; changes the speed only")
      ->check(CLI::Range(1, 1 << 20))
      ->option_text(fmt::format("N [{}]", options.batch_tokens));
  app.add_option("--max-source-tokens", options.max_source_tokens,
                 "Pieces of a line; a longer one is cut at the best place, translated in parts and joined")
      ->check(CLI::Range(16, 1 << 16))
      ->option_text(fmt::format("N [{}]", options.max_source_tokens));
  app.add_option("--threads", options.threads, "Threads")->check(CLI::Range(1, 1024))->option_text("N [all cores]");
}

}  // namespace

Action translate_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("-m,--model", options->model, "The model")->required()->option_text("MODEL");
  app.add_option("file", options->file, "Text to translate, one sentence a line; - is standard input")
      ->option_text("FILE [-]");
  app.add_option("-o,--output", options->output, "Write to a file, which appears when it is complete")
      ->option_text("FILE");
  app.add_option("--n-best", options->n_best,
                 "The N best translations of each line, as lines 'number ||| text ||| score' counted from 0")
      ->check(CLI::Range(1, 65536))
      ->option_text("N");
  app.add_flag("--score", options->score, "Score and a tab before each translation");
  app.add_flag("--line", options->line, "Answer each line at once, even where many wait");
  app.add_option("--attention", options->attention,
                 "Write a picture of the encoder-decoder attention of the first sentence (HTML)")
      ->option_text("FILE");
  declare_search(app, options->search);
  declare_batches(app, *options);
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
