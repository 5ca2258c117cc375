// The C interface of the library: reading a result.

#include "library/c_handles.h"

namespace {

// The element of a list, or null for one that is not there or a list that is not.
template <class Element>
const Element* at(const std::vector<Element>* list, size_t index) {
  return list != nullptr && index < list->size() ? &(*list)[index] : nullptr;
}

template <class Element>
size_t size(const std::vector<Element>* list) {
  return list == nullptr ? 0 : list->size();
}

const char* text(const std::string* found) { return found == nullptr ? nullptr : found->c_str(); }

const zhuyi::Translation* line_of(const zhuyi_result* result, size_t line) {
  return result == nullptr ? nullptr : at(&result->lines, line);
}

const std::vector<zhuyi::Alternative>* alternatives_of(const zhuyi_result* result, size_t line) {
  const zhuyi::Translation* found = line_of(result, line);
  return found == nullptr ? nullptr : &found->alternatives;
}

// A list that an alternative has.
template <class Element>
const std::vector<Element>* list_of(const zhuyi_result* result, size_t line, size_t alternative,
                                    std::vector<Element> zhuyi::Alternative::*member) {
  const zhuyi::Alternative* found = at(alternatives_of(result, line), alternative);
  return found == nullptr ? nullptr : &(found->*member);
}

const zhuyi::Word* word_of(const zhuyi_result* result, size_t line, size_t alternative, size_t word) {
  return at(list_of(result, line, alternative, &zhuyi::Alternative::words), word);
}

}  // namespace

extern "C" {

void zhuyi_result_free(zhuyi_result* result) { delete result; }

size_t zhuyi_result_lines(const zhuyi_result* result) { return result == nullptr ? 0 : result->lines.size(); }

const char* zhuyi_result_text(const zhuyi_result* result, size_t line) {
  const zhuyi::Translation* found = line_of(result, line);
  return found == nullptr ? nullptr : found->text.c_str();
}

size_t zhuyi_result_alternatives(const zhuyi_result* result, size_t line) {
  return size(alternatives_of(result, line));
}

const char* zhuyi_result_alternative(const zhuyi_result* result, size_t line, size_t alternative) {
  const zhuyi::Alternative* found = at(alternatives_of(result, line), alternative);
  return found == nullptr ? nullptr : found->text.c_str();
}

double zhuyi_result_score(const zhuyi_result* result, size_t line, size_t alternative) {
  const zhuyi::Alternative* found = at(alternatives_of(result, line), alternative);
  return found == nullptr ? 0 : found->score;
}

double zhuyi_result_log_probability(const zhuyi_result* result, size_t line, size_t alternative) {
  const zhuyi::Alternative* found = at(alternatives_of(result, line), alternative);
  return found == nullptr ? 0 : found->log_probability;
}

int zhuyi_result_finished(const zhuyi_result* result, size_t line, size_t alternative) {
  const zhuyi::Alternative* found = at(alternatives_of(result, line), alternative);
  return found != nullptr && found->finished ? 1 : 0;
}

size_t zhuyi_result_words(const zhuyi_result* result, size_t line, size_t alternative) {
  return size(list_of(result, line, alternative, &zhuyi::Alternative::words));
}

const char* zhuyi_result_word(const zhuyi_result* result, size_t line, size_t alternative, size_t word) {
  const zhuyi::Word* found = word_of(result, line, alternative, word);
  return found == nullptr ? nullptr : found->text.c_str();
}

double zhuyi_result_word_log_probability(const zhuyi_result* result, size_t line, size_t alternative, size_t word) {
  const zhuyi::Word* found = word_of(result, line, alternative, word);
  return found == nullptr ? 0 : found->log_probability;
}

size_t zhuyi_result_pieces(const zhuyi_result* result, size_t line, size_t alternative) {
  return size(list_of(result, line, alternative, &zhuyi::Alternative::pieces));
}

const char* zhuyi_result_piece(const zhuyi_result* result, size_t line, size_t alternative, size_t piece) {
  return text(at(list_of(result, line, alternative, &zhuyi::Alternative::pieces), piece));
}

size_t zhuyi_result_source_pieces(const zhuyi_result* result, size_t line) {
  const zhuyi::Translation* found = line_of(result, line);
  return found == nullptr ? 0 : found->source_pieces.size();
}

const char* zhuyi_result_source_piece(const zhuyi_result* result, size_t line, size_t source_piece) {
  const zhuyi::Translation* found = line_of(result, line);
  return found == nullptr ? nullptr : text(at(&found->source_pieces, source_piece));
}

size_t zhuyi_result_attention_rows(const zhuyi_result* result, size_t line, size_t alternative) {
  return size(list_of(result, line, alternative, &zhuyi::Alternative::attention));
}

double zhuyi_result_attention(const zhuyi_result* result, size_t line, size_t alternative, size_t row,
                              size_t source_piece) {
  const std::vector<float>* weights = at(list_of(result, line, alternative, &zhuyi::Alternative::attention), row);
  const float* weight = at(weights, source_piece);
  return weight == nullptr ? 0 : static_cast<double>(*weight);
}

}  // extern "C"
