#pragma once
// Text to text: lines through tokenizer, beam search and back, and the log-probability of given translations.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "infer/attention_picture.h"
#include "infer/translation.h"

namespace zhuyi::infer {

// The search of a model by default: beam 4, alpha 0.6 (paper 6.1). Start and end tokens are the model's; never produced
// are its unknown, start and padding pieces, and pieces with control characters (a line must stay one line).
SearchOptions search_options(const formats::Model& model);

struct ScoredPair {
  double log_probability = 0;                  // natural logarithm, eos included
  std::vector<float> token_log_probabilities;  // one for each target token, eos last

  bool operator==(const ScoredPair&) const = default;
};

struct Line;

// A model that translates. Copies share it; const and safe to use from several threads.
class Translator {
 public:
  // Takes the model and stores its weights in the order that inference reads.
  explicit Translator(formats::Model model);
  // An ensemble: models of any size with the same tokenizers. The probability of a token is the mean of what they say,
  // by weight (one for each, above 0; none: all alike). Throws invalid_argument when they do not go together.
  explicit Translator(std::vector<formats::Model> models, std::vector<double> weights = {});

  // The first model, with the scripts of all.
  const formats::Model& model() const { return models_->front(); }
  // Options with the search of the model by default.
  TranslateOptions defaults() const;

  // The translations of lines of text, in their order. A blank line (text::blank) gives a blank one without the model.
  // Ill-formed UTF-8 counts as U+FFFD. The answer for a line depends on the line and the options alone, bit for bit. No
  // translation holds an end of line. `own` is empty or has what is asked of each line. Throws invalid_argument for
  // options out of range.
  std::vector<Translation> translate(std::span<const std::string> lines, const TranslateOptions& options,
                                     std::span<const LineOptions> own = {}) const;

  // How probable the model finds targets[i] as the translation of sources[i], both cut into pieces by the tokenizers;
  // each pair is scored as if alone. Throws invalid_argument when the numbers differ, and bad_file, naming the pair
  // (counted from `first`), for one longer than the model's positions or 4,096 tokens. With `pieces` a target is given
  // as pieces of the vocabulary with spaces between: a text may be cut in several ways, of which the search may have
  // found another than the tokenizer's; bad_file names one that the vocabulary lacks.
  std::vector<ScoredPair> score(std::span<const std::string> sources, std::span<const std::string> targets,
                                const BatchLimits& batches = {}, std::int64_t first = 1, bool pieces = false) const;

  // Whether both are short enough for score().
  bool can_score(const std::string& source, const std::string& target) const;

  // Where each token of the best translation of a line looks in the source; of a line that is too long, its first part.
  CrossAttention attention(const std::string& line, const TranslateOptions& options) const;

 private:
  SearchOptions search_of(const TranslateOptions& options) const;
  void keep_protected(std::vector<Line>& lines, const SearchOptions& search, const TranslateOptions& options) const;

  std::shared_ptr<const std::vector<formats::Model>> models_;
  std::vector<Member> members_;
};

}  // namespace zhuyi::infer
