#pragma once
// What may be asked of a translation of lines of text, and what it gives.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "infer/translate_tokens.h"
#include "text/sentences.h"

namespace zhuyi::infer {

// What becomes of a character that the target vocabulary lacks.
enum class Unknown {
  forbid,  // the unknown piece is never produced: with byte fallback a character is spelt in bytes, else avoided
  keep,    // it may be produced, and stands as " ⁇ "
  copy,    // it may be produced, and is replaced by the source word that it looks at most
};

// Where the source has `source` (as whole words), the translation must have one of `targets`.
struct GlossaryEntry {
  std::string source;
  std::vector<std::string> targets;
};

// How much each target token looks at each source token.
struct AlignmentOptions {
  bool on = false;
  std::int64_t layer = -1;  // of the decoder, from 0; -1: the last
  std::int64_t head = -1;   // from 0; -1: the mean over all
};

struct TranslateOptions {
  SearchOptions search;
  BatchLimits batches;                   // changes no answer
  std::int64_t max_source_tokens = 256;  // of a sentence; a longer one is cut, translated in parts and joined; >= 16
  bool split = true;                     // translate the sentences of a line one by one; false: a line is kept whole
                                         //   as far as the model has positions
  text::SentenceSplitter splitter;       // by the rules of the source language; English by default
  bool protect = true;                   // placeholders, tags and addresses (protected_text.h) stay as they are, and
                                         //   what the model cannot read (unknown_text.h) or loses (numbers.h)
  std::vector<std::string> banned = {};  // texts that no translation has
  std::vector<GlossaryEntry> glossary = {};
  Unknown unknown = Unknown::forbid;
  AlignmentOptions alignment = {};
  std::function<bool()> interrupted = {};  // asked now and then; when it gives true, the call ends with
                                           //   Error{interrupted}
};

// What may be asked of one line. A line of which something is asked is not split into sentences.
struct LineOptions {
  std::string prefix;                             // every translation begins with this, kept to the letter (in NFC)
  std::vector<std::vector<std::string>> phrases;  // of each, one must be in the translation
};

// A word of a translation, or a character of a script without spaces.
struct WordScore {
  std::string text;
  double log_probability = 0;  // of its pieces
};

// One translation of a line. Of a line in parts the sums are over its parts.
struct Alternative {
  std::string text;
  std::vector<std::int32_t> tokens;  // without bos and eos; the parts one after another
  double score = 0;                  // what the search ranks by, over the whole
  double log_probability = 0;        // natural logarithm, eos included
  bool finished = true;              // false: the maximum length cut it short
  std::vector<std::string> pieces;   // [tokens]
  std::vector<WordScore> words;
  double end_log_probability = 0;  // of the ends of its parts: with the words' it sums to log_probability
  std::vector<std::vector<float>>
      alignment;  // [tokens and an eos for each part][source_pieces]; empty unless asked for
};

struct Translation {
  std::string text;                        // of the best alternative; "" for a blank line
  double score = 0;                        // of the best alternative; 0 for a blank line
  std::vector<Alternative> alternatives;   // best first, at most n_best; none for a blank line
  std::int64_t parts = 0;                  // that the model has read: sentences, and parts of long ones; 0: blank
  bool cut = false;                        // a sentence was longer than max_source_tokens
  std::int64_t source_tokens = 0;          // eos included
  std::vector<std::string> source_pieces;  // [source_tokens], when an alignment was asked for
};

}  // namespace zhuyi::infer
