#pragma once
// A line of text as sentences, by the rules of its language.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zhuyi::text {

// Finds the ends of sentences (Unicode Standard Annex #29, ICU's break iterator), but none after an abbreviation that
// ICU or this file lists for the language, an initial, the number of a list item, three dots, before a word in lower
// case, or inside a word ("=Sheet1.A1", "<?>"). Chinese and Japanese end at 。！？； with closing quotes and brackets.
// Immutable, cheap to copy, and safe to use from several threads.
class SentenceSplitter {
 public:
  // `language` is a code such as "en" or "pt-BR"; unknown ones follow the root rules. Without `semicolons` no sentence
  // ends at ；, as none does at its twin in other scripts. Throws internal when ICU fails.
  explicit SentenceSplitter(const std::string& language = "en", bool semicolons = true);

  // The sentences of `text` (well-formed UTF-8), in order, without white space at their ends and none of them blank.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  struct Rules;
  std::shared_ptr<const Rules> rules_;
};

}  // namespace zhuyi::text
