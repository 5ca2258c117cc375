#pragma once
// Paragraphs as sentences: a paragraph and its translation in step, where their punctuation shows which belong
// together.

#include <string>
#include <string_view>
#include <vector>

#include "data/pair.h"

namespace zhuyi::data {

// The sentences of a paragraph, without white space at their ends. One ends at 。！？ or at . ! ? before white space,
// closing quotes and brackets included, unless what follows begins in lower case, or the full stop belongs to an
// abbreviation ("e.g."), an initial, a list number ("1.") or three dots.
std::vector<std::string_view> split_sentences(std::string_view paragraph);

// The pairs with paragraphs of several sentences replaced by their sentences, where both sides have as many and each
// is at most 3 times as long as its twin (drop_reason() says how lengths compare); the others stay whole.
std::vector<SentencePair> split_paragraphs(std::vector<SentencePair> pairs);

}  // namespace zhuyi::data
