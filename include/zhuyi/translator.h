#pragma once
// Zhuyi as a library: a model that translates text.
//
//   const zhuyi::Translator translator("model.safetensors");
//   std::cout << translator.translate("Open the file.") << "\n";

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zhuyi {

class Translator;

// What went wrong, from the caller's point of view.
enum class ErrorKind {
  invalid_argument,  // the caller asked for something that cannot be
  not_found,         // a file that does not exist
  bad_file,          // an input file that cannot be used
  bad_model,         // a model that cannot be used
  unsupported,       // valid, and not offered here
  system,            // disk, memory, permissions
  interrupted,       // Options::interrupted said so
  internal,          // a defect of this library
};

// The only exception that leaves the library. Its message says what was found, what was expected and how to mend it.
class [[gnu::visibility("default")]] Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const noexcept { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
};

// What the sum of the log-probabilities of n pieces is divided by.
enum class LengthPenalty {
  gnmt,   // ((5 + n) / 6)^alpha: Wu et al., 2016; "Attention Is All You Need", 6.1
  power,  // n^alpha
  none,   // 1
};

// When the search of a sentence ends before its maximum length.
enum class Stop {
  bound,           // once nothing that goes on can beat what has been found: never changes the answer
  beam_finished,   // once patience * beam hypotheses have ended
  first_finished,  // once one has ended
};

// What becomes of a character that the vocabulary lacks.
enum class Unknown {
  forbid,  // it is spelt in bytes, or avoided
  keep,    // it may stand as " ⁇ "
  copy,    // it is replaced by the source word that it looks at most
};

// Where the source has `source` as a word, the translation must have one of `targets`.
struct GlossaryEntry {
  std::string source;
  std::vector<std::string> targets;
};

// A phrase that must occur, in any of these ways.
using Phrase = std::vector<std::string>;

// For the words of a sentence the few pieces that may translate them: a file of zhuyi shortlist. Copies share it.
class [[gnu::visibility("default")]] Shortlist {
 public:
  // None: every piece of the vocabulary may be used.
  Shortlist() = default;
  // Reads a file for the vocabulary of a translator. Throws Error.
  Shortlist(const std::filesystem::path& file, const Translator& translator);

 private:
  friend class Translator;
  struct Shared;
  std::shared_ptr<const Shared> shared_;
};

// What may be asked of a translation. A field has the name that zhuyi translate has for it, with _ for -, and
// docs/translating.md says more about each. Texts are UTF-8; lengths are in pieces of the model's vocabulary.
struct Options {
  // Search.
  std::int64_t beam = 4;    // hypotheses kept alive; 1 is greedy search, the fastest
  std::int64_t n_best = 1;  // alternatives for each line, at most `beam`
  LengthPenalty length_penalty = LengthPenalty::gnmt;
  double alpha = 0.6;                // the penalty's exponent; more favours longer translations
  double coverage_penalty = 0;       // against source words that nothing looks at (Wu et al., 2016)
  double repetition_penalty = 1;     // a piece that was used already counts so many times its log-probability
  std::int64_t no_repeat_ngram = 0;  // no so many pieces in a row occur twice; 0: they may
  std::int64_t max_repeats = 8;      // no block of up to 8 pieces stands more often in a row, unless one does in the
                                     //   source; 0: it may
  Stop stop = Stop::bound;
  double patience = 1;  // of Stop::beam_finished

  // Lengths.
  double max_length_factor = 1;        // a translation has at most this times the source's length
  std::int64_t max_length_extra = 50;  //   plus this,
  std::int64_t max_length = 1024;      //   and never more than this
  std::int64_t min_length = 0;         // it has at least so many pieces,
  double min_length_factor = 0;        //   and at least this times the source's length

  // Drawing translations instead of searching for the best.
  bool sample = false;
  double temperature = 1;  // in proportion to p^(1 / temperature)
  std::int64_t top_k = 0;  // among so many most probable pieces; 0: all
  double top_p = 1;        // and of these among the fewest whose shares sum to this
  std::uint64_t seed = 1;  // another seed draws others

  // What must be in a translation, and what must not. A line with a prefix or phrases is not split into sentences.
  std::string prefix = {};           // every translation begins with this, to the letter (in NFC)
  std::vector<Phrase> phrases = {};  // each must be in every translation
  std::vector<GlossaryEntry> glossary = {};
  std::vector<std::string> ban = {};                      // texts that no translation has, whatever their pieces
  std::vector<std::vector<std::string>> ban_pieces = {};  // sequences of pieces that no translation has
  std::vector<std::string> suppress_pieces = {};          // pieces that are never produced
  Unknown unknown = Unknown::forbid;
  Shortlist shortlist = {};  // for speed

  // Text.
  bool split = true;                     // translate the sentences of a line one by one
  std::string language = "en";           // of the source, for the ends of its sentences
  std::int64_t max_source_tokens = 256;  // of a sentence; a longer one is cut, translated in parts and joined
  bool protect = true;                   // placeholders, tags, addresses, unknown symbols and lost numbers stay

  // Alignments, from the encoder-decoder attention.
  bool alignment = false;            // give Alternative::attention and ::alignment, and Translation::source_pieces
  std::int64_t alignment_layer = 0;  // of the decoder, from 1; 0: the last
  std::int64_t alignment_head = 0;   // from 1; 0: the mean of all

  // Another model whose score, times a weight, is added to those of the `beam` best.
  std::shared_ptr<const Translator> rescorer = nullptr;
  double rescore_weight = 1;
  bool rescore_reverse = false;  // it reads the translation and scores the source

  // Work. None of it changes an answer.
  int threads = 0;                         // of one call; 0: all cores
  std::int64_t batch = 8;                  // sentences that a thread translates together,
  std::int64_t batch_tokens = 4096;        //   and their source pieces
  std::int64_t memory = 0;                 // bytes that keys and values may come to, of all threads; 0: no limit
  std::function<bool()> interrupted = {};  // asked now and then, by any thread; when it gives true, the call ends with
                                           //   ErrorKind::interrupted

  // What `ban`, `ban_pieces` and `suppress_pieces` were called in version 0.1; added to them, and gone in the next.
  std::vector<std::string> banned = {};
  std::vector<std::vector<std::string>> banned_pieces = {};
  std::vector<std::string> suppressed_pieces = {};
};

// What is asked of one line, in place of the options' own prefix and phrases.
struct LineOptions {
  std::string prefix = {};
  std::vector<Phrase> phrases = {};
};

// A word of a translation, or a character of a script without spaces.
struct Word {
  std::string text;
  double log_probability = 0;  // natural logarithm
};

// Positions in Translation::source_pieces and in the rows of Alternative::attention, from 0.
struct AlignedPair {
  std::int64_t source = 0;
  std::int64_t target = 0;
};

// One translation of a line. Of a line in parts the sums are over its parts.
struct Alternative {
  std::string text;
  double score = 0;            // what the search ranks by
  double log_probability = 0;  // natural logarithm: of the words, and of the translation's end
  bool finished = true;        // false: the maximum length cut it short
  std::vector<std::string> pieces;
  std::vector<Word> words;
  double end_log_probability = 0;
  // When asked for: how much each piece, and the end of each part, looks at each of Translation::source_pieces (rows
  // sum to 1), and of each row the source piece that it looks at most.
  std::vector<std::vector<float>> attention;
  std::vector<AlignedPair> alignment;
};

struct Translation {
  std::string text;                        // of the best alternative; "" for a blank line
  double score = 0;                        // of the best alternative
  std::vector<Alternative> alternatives;   // best first; none for a blank line
  std::int64_t parts = 0;                  // sentences, and parts of long ones; 0 for a blank line
  bool cut = false;                        // a sentence was longer than max_source_tokens
  std::vector<std::string> source_pieces;  // ends of parts included; empty unless an alignment was asked for
};

// A loaded model, or several that translate together. const and safe to use from many threads at once; copies share the
// weights. The answer for a line depends on the line and the options alone, bit for bit.
class [[gnu::visibility("default")]] Translator {
 public:
  // Loads a model file that zhuyi train or zhuyi quantize wrote. Throws Error.
  explicit Translator(const std::filesystem::path& model);
  // An ensemble of models with one vocabulary; weights: one for each, or none for all alike. Throws Error.
  explicit Translator(std::span<const std::filesystem::path> models, std::span<const double> weights = {});

  // The best translation of a line of text. Throws Error.
  std::string translate(const std::string& line, const Options& options = {}) const;
  // The translations of lines of text, in their order: the faster way for many. `own` is empty or has what is asked of
  // each line. Throws Error.
  std::vector<Translation> translate_lines(std::span<const std::string> lines, const Options& options = {},
                                           std::span<const LineOptions> own = {}) const;

  // The natural log-probability of targets[i] as the translation of sources[i], both cut into pieces by the model's
  // tokenizers. Throws Error.
  std::vector<double> score(std::span<const std::string> sources, std::span<const std::string> targets) const;

 private:
  friend class Shortlist;
  struct Shared;
  std::shared_ptr<const Shared> shared_;
};

// The library's version, "1.2.3".
[[gnu::visibility("default")]] std::string version();

}  // namespace zhuyi
