#pragma once
// Lexical shortlists: for each source piece the few target pieces that may translate it, so that a sentence needs the
// output projection for some hundred pieces instead of all (Schwenk et al., 2007; Marian's lexical shortlist).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/pair.h"
#include "formats/model_file.h"

namespace zhuyi::infer {

class Shortlist {
 public:
  // always: target ids that every sentence may use; by_source[s]: those for source id s.
  Shortlist(std::vector<std::int32_t> always, std::vector<std::vector<std::int32_t>> by_source);

  // A text file as CTranslate2's vmap.txt: lines "source piece TAB target pieces with spaces between", the first with
  // an empty source piece for those that every sentence may use. Throws not_found, and bad_file for a line of another
  // form or a piece that the model lacks.
  static Shortlist load(const std::filesystem::path& path, const formats::Model& model);
  // Writes such a file in one step. Throws system.
  void save(const std::filesystem::path& path, const formats::Model& model) const;

  // What a sentence may use, in ascending order: the union over its tokens.
  std::vector<std::int32_t> allowed(std::span<const std::int32_t> source) const;

  bool operator==(const Shortlist&) const = default;

 private:
  std::vector<std::int32_t> always_;
  std::vector<std::vector<std::int32_t>> by_source_;
};

struct ShortlistOptions {
  std::int64_t best = 100;      // target pieces for a source piece: those aligned with it most often
  std::int64_t frequent = 100;  // the most frequent target pieces of the text, for every sentence
  std::int64_t longest = 256;   // tokens of one side; longer pairs are left out
  std::function<bool()> interrupted = {};
};

// From the model's own alignments of its training text: each target token is counted for the source token that it looks
// at most (mean of the last layer's heads, the source's end left out). Every sentence may also use eos, the pieces that
// spell bytes, and pieces that look like one of its own. Ties are broken by the lower id.
Shortlist make_shortlist(const formats::Model& model, std::span<const data::SentencePair> pairs,
                         const ShortlistOptions& options = {});

}  // namespace zhuyi::infer
