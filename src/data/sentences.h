#pragma once
// Paragraphs as sentences: a paragraph and its translation in step, where their punctuation shows which belong
// together.

#include <vector>

#include "data/pair.h"

namespace zhuyi::data {

// The pairs with paragraphs of several sentences (text::SentenceSplitter; a semicolon ends none, and a line break is a
// space) replaced by their sentences, where both sides have as many and each is at most 3 times as long as its twin
// (drop_reason() says how lengths compare); the others, and those that are not UTF-8, stay whole.
std::vector<SentencePair> split_paragraphs(std::vector<SentencePair> pairs);

}  // namespace zhuyi::data
