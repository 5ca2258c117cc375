// zhuyi tokenizer: trains a SentencePiece model, and turns lines into pieces or ids and back.

#include "text/tokenizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/command.h"
#include "data/pairs.h"
#include "data/text_file.h"

namespace zhuyi::cli {
namespace {

using base::ErrorKind;

struct Options {
  std::string action;
  std::string file = "-";
  std::string model;
  bool ids = false;
  std::vector<std::string> inputs;
  std::string output;
  std::string side = "both";
  std::string type = "unigram";
  text::TokenizerTraining training;
};

std::vector<std::string> sentences_of(const std::string& path, const std::string& side) {
  std::vector<std::string> sentences;
  if (path.ends_with(".tsv") || path.ends_with(".tsv.gz")) {
    for (const data::SentencePair& pair : data::read_tsv_pairs(path)) {
      if (side != "target") sentences.push_back(pair.source);
      if (side != "source") sentences.push_back(pair.target);
    }
    return sentences;
  }
  base::for_each_line(data::read_text_file(path), [&](std::string_view line) { sentences.emplace_back(line); });
  return sentences;
}

void train(Options options) {
  base::check(!options.inputs.empty(), "tokenizer train: no text to learn from; name files with --input FILE...");
  base::check(!options.output.empty(), "tokenizer train: no file for the model; name it with --output MODEL");
  std::vector<std::string> sentences;
  for (const std::string& path : options.inputs) {
    for (std::string& sentence : sentences_of(path, options.side)) sentences.push_back(std::move(sentence));
  }
  options.training.type = options.type == "bpe" ? text::TokenizerType::bpe : text::TokenizerType::unigram;
  const text::Tokenizer tokenizer(text::train_tokenizer(sentences, options.training));
  base::write_file(options.output, tokenizer.serialized());
  std::cerr << fmt::format("{} {} pieces from {} lines\n", tokenizer.size(), options.type, sentences.size());
  std::cout << options.output << "\n";
}

// Calls visit for each line of the file or of standard input ("-"): LF or CRLF ends a line, a last one without end
// counts.
void for_each_input_line(const std::string& file, const std::function<void(std::string_view)>& visit) {
  if (file != "-") {
    base::for_each_line(base::read_file(file), visit);
    return;
  }
  for (std::string line; std::getline(std::cin, line);) {
    if (line.ends_with('\r')) line.pop_back();
    visit(line);
  }
}

// The parts of a line between spaces; several spaces count as one.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::vector<std::int32_t> ids_of(const std::vector<std::string>& words, std::int64_t size, std::int64_t line) {
  std::vector<std::int32_t> ids;
  for (const std::string& word : words) {
    std::int32_t id = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    const bool whole = error == std::errc() && end == word.data() + word.size();
    base::check_kind(whole && id >= 0 && id < size, ErrorKind::bad_file, "line {}: '{}' is no id, expected 0 to {}",
                     line, word, size - 1);
    ids.push_back(id);
  }
  return ids;
}

template <class Items>
std::string joined(const Items& items) {
  return fmt::format("{}\n", fmt::join(items, " "));
}

void encode(const Options& options, const text::Tokenizer& tokenizer) {
  for_each_input_line(options.file, [&](std::string_view line) {
    std::cout << (options.ids ? joined(tokenizer.encode(line)) : joined(tokenizer.encode_pieces(line)));
  });
}

void decode(const Options& options, const text::Tokenizer& tokenizer) {
  std::int64_t number = 0;
  for_each_input_line(options.file, [&](std::string_view line) {
    const std::vector<std::string> words = words_of(line);
    std::string text =
        options.ids ? tokenizer.decode(ids_of(words, tokenizer.size(), ++number)) : tokenizer.decode_pieces(words);
    std::replace(text.begin(), text.end(), '\n', ' ');  // one line stays one line, whatever the pieces hold
    std::cout << text << '\n';
  });
}

void run(const Options& options) {
  if (options.action == "train") return train(options);
  base::check(!options.model.empty(), "tokenizer {}: no model; name one with --model MODEL", options.action);
  const text::Tokenizer tokenizer = text::Tokenizer::load(options.model);
  if (options.action == "encode") return encode(options, tokenizer);
  decode(options, tokenizer);
}

void declare_training(CLI::App& app, Options& options) {
  const std::string group = "Training";
  text::TokenizerTraining& training = options.training;
  app.add_option("-i,--input", options.inputs,
                 "text to learn from, one sentence a line; .tsv files hold source TAB target; gzip is unpacked")
      ->option_text("FILE...")
      ->group(group);
  app.add_option("-o,--output", options.output, "the model")->option_text("MODEL")->group(group);
  app.add_option("-n,--vocabulary", training.size, "pieces in all, byte and special ones included")
      ->option_text(fmt::format("N [{}]", training.size))
      ->group(group);
  app.add_flag("--vocabulary-is-limit", training.size_is_limit, "fewer pieces where the text is too small for so many")
      ->group(group);
  app.add_option("--tokenizer-type", options.type, "what to learn: unigram or bpe")
      ->check(CLI::IsMember({"unigram", "bpe"}))
      ->option_text("NAME [unigram]")
      ->group(group);
  app.add_option("--side", options.side,
                 "columns of .tsv files to learn from: both (a joint vocabulary), source, target")
      ->check(CLI::IsMember({"both", "source", "target"}))
      ->option_text("NAME [both]")
      ->group(group);
  app.add_flag("--byte-fallback,!--no-byte-fallback", training.byte_fallback,
               "bytes for characters that the vocabulary lacks, so that no text is lost [on]")
      ->group(group);
  app.add_flag("--split-digits,!--no-split-digits", training.split_digits,
               "a piece of its own for every digit, so that numbers are copied exactly [on]")
      ->group(group);
  app.add_option("--character-coverage", training.character_coverage,
                 "share of the text's characters that become pieces; the rest is written as bytes")
      ->option_text(fmt::format("SHARE [{}]", training.character_coverage))
      ->group(group);
  app.add_option("--user-defined", training.user_defined, "pieces that are never split, such as '<br>'")
      ->option_text("PIECE...")
      ->group(group);
  app.add_option("--max-sentences", training.max_sentences, "lines to learn from, evenly spread; 0: all")
      ->option_text("N [0]")
      ->group(group);
  app.add_option("--threads", training.threads, "threads; the result depends on it in the last digits")
      ->option_text(fmt::format("N [{}]", training.threads))
      ->group(group);
}

}  // namespace

Action tokenizer_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("action", options->action,
                 "what to do: train a model from text; encode lines into pieces; decode pieces into lines")
      ->required()
      ->check(CLI::IsMember({"train", "encode", "decode"}))
      ->option_text("train|encode|decode");
  app.add_option("file", options->file, "what to encode or decode, line by line; - is standard input")
      ->option_text("FILE [-]");
  app.add_option("-m,--model", options->model, "the model to encode or decode with")->option_text("MODEL");
  app.add_flag("--ids", options->ids, "numbers in the vocabulary in place of pieces");
  declare_training(app, *options);
  return [options] { run(*options); };
}

}  // namespace zhuyi::cli
