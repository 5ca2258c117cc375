/* The C interface from C: c_program MODEL LINE SHORTLIST prints three translations of a line and meets every kind of
 * failure. The shortlist allows the letters A and B alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zhuyi/zhuyi.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "failed: %s\n", what);
  ++failures;
}

/* That an error was told and says `part`; frees it. */
static void expect_error(char** error, const char* part) {
  expect(*error != NULL && strstr(*error, part) != NULL, part);
  if (*error != NULL && strstr(*error, part) == NULL) fprintf(stderr, "but: %s\n", *error);
  zhuyi_free_string(*error);
  *error = NULL;
}

/* Three translations of a line with all that there is to know about them. */
static void read_result(const zhuyi_translator* translator, const char* line) {
  char* error = NULL;
  zhuyi_options* options = zhuyi_options_new();
  expect(zhuyi_options_set(options, "n-best", "3", &error) == 1, "n-best");
  expect(zhuyi_options_set(options, "max-length-extra", "8", &error) == 1, "max-length-extra");
  expect(zhuyi_options_set(options, "alignment", "soft", &error) == 1, "alignment");
  const char* lines[] = {line, ""};
  zhuyi_result* result = zhuyi_translate(translator, lines, 2, options, &error);
  expect(result != NULL && zhuyi_result_lines(result) == 2, "two lines");
  expect(zhuyi_result_alternatives(result, 0) == 3 && zhuyi_result_alternatives(result, 1) == 0, "alternatives");
  for (size_t i = 0; i < zhuyi_result_alternatives(result, 0); ++i) {
    printf("%s\t%.6f\n", zhuyi_result_alternative(result, 0, i), zhuyi_result_score(result, 0, i));
  }
  expect(strcmp(zhuyi_result_text(result, 0), zhuyi_result_alternative(result, 0, 0)) == 0, "the best is the first");
  expect(strcmp(zhuyi_result_text(result, 1), "") == 0, "blank for blank");
  double words = 0;
  for (size_t i = 0; i < zhuyi_result_words(result, 0, 0); ++i) {
    expect(strlen(zhuyi_result_word(result, 0, 0, i)) > 0, "a word");
    words += zhuyi_result_word_log_probability(result, 0, 0, i);
  }
  const double sum = zhuyi_result_log_probability(result, 0, 0);
  expect(zhuyi_result_finished(result, 0, 0) ? sum <= words : fabs(sum - words) < 1e-4, "words sum to the whole");
  const size_t rows = zhuyi_result_attention_rows(result, 0, 0);
  const size_t pieces = zhuyi_result_pieces(result, 0, 0);
  expect(rows == pieces + (size_t)zhuyi_result_finished(result, 0, 0), "a row for each piece and the end");
  for (size_t row = 0; row < rows; ++row) {
    double weights = 0;
    for (size_t i = 0; i < zhuyi_result_source_pieces(result, 0); ++i) {
      weights += zhuyi_result_attention(result, 0, 0, row, i);
    }
    expect(fabs(weights - 1) < 1e-4, "weights sum to 1");
  }
  expect(strcmp(zhuyi_result_source_piece(result, 0, zhuyi_result_source_pieces(result, 0) - 1), "</s>") == 0, "ends");
  expect(pieces > 0 && strlen(zhuyi_result_piece(result, 0, 0, 0)) > 0, "a piece");
  /* Beyond what there is. */
  expect(zhuyi_result_text(result, 2) == NULL && zhuyi_result_alternative(result, 0, 3) == NULL, "no more lines");
  expect(zhuyi_result_word(result, 0, 0, 1000) == NULL && zhuyi_result_piece(result, 2, 0, 0) == NULL,
         "no such word or piece");
  expect(zhuyi_result_source_piece(result, 0, 1000) == NULL && zhuyi_result_pieces(result, 0, 9) == 0, "nor there");
  expect(zhuyi_result_attention(result, 0, 0, 0, 1000) == 0 && zhuyi_result_finished(NULL, 0, 0) == 0, "nor here");
  zhuyi_result_free(result);
  zhuyi_options_free(options);
}

static void translate_lines(const zhuyi_translator* translator, const char* line) {
  char* error = NULL;
  char* text = zhuyi_translate_line(translator, line, NULL, &error);
  expect(text != NULL, "one line, options by default");
  const char* lines[] = {line};
  zhuyi_result* result = zhuyi_translate(translator, lines, 1, NULL, NULL);
  expect(strcmp(text, zhuyi_result_text(result, 0)) == 0, "one line is a line");
  const char* const* targets = (const char* const*)&text;
  double score = 1;
  expect(zhuyi_score(translator, lines, targets, 1, &score, &error) == 1 && score < 0, "a log-probability");
  expect(zhuyi_score(translator, lines, NULL, 1, &score, &error) == 0, "no targets");
  expect_error(&error, "targets is NULL");
  zhuyi_result_free(result);
  zhuyi_free_string(text);
}

static void use_options(const zhuyi_translator* translator, const char* model, const char* line,
                        const char* shortlist) {
  char* error = NULL;
  zhuyi_options* options = zhuyi_options_new();
  expect(zhuyi_options_set(options, "beem", "3", &error) == 0, "no such option");
  expect_error(&error, "none named 'beem', expected one of beam, n-best");
  expect(zhuyi_options_set(options, "beam", "many", NULL) == 0, "no number, and nobody asks why");
  expect(zhuyi_options_set(options, "beam", "3.5", &error) == 0, "no whole number");
  expect_error(&error, "beam is '3.5', expected a whole number");
  expect(zhuyi_options_set(options, "sample", "yes", &error) == 0, "no flag");
  expect_error(&error, "sample is 'yes', expected true or false");
  expect(zhuyi_options_set(options, "glossary", "term", &error) == 0, "no entry");
  expect_error(&error, "a source term, a tab");
  expect(zhuyi_options_shortlist(options, translator, "/no/such/list", &error) == 0, "no shortlist");
  expect_error(&error, "/no/such/list");
  expect(zhuyi_options_shortlist(options, translator, shortlist, &error) == 1, "a shortlist");
  zhuyi_translator* copy = zhuyi_load(model, NULL);
  expect(zhuyi_options_rescorer(options, copy, &error) == 1, "a rescorer");
  zhuyi_free(copy);
  char* text = zhuyi_translate_line(translator, line, options, &error);
  expect(text != NULL && strspn(text, "AB") == strlen(text), "only what the shortlist allows");
  zhuyi_free_string(text);
  expect(zhuyi_options_rescorer(options, NULL, &error) == 1, "no rescorer");
  expect(zhuyi_options_set(options, "n-best", "9", &error) == 1, "n-best above the beam");
  expect(zhuyi_translate_line(translator, line, options, &error) == NULL, "is refused");
  expect_error(&error, "n_best is 9");
  zhuyi_options_free(options);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  char* error = NULL;
  zhuyi_translator* translator = zhuyi_load(argv[1], &error);
  expect(translator != NULL && error == NULL, "the model loads");
  read_result(translator, argv[2]);
  translate_lines(translator, argv[2]);
  use_options(translator, argv[1], argv[2], argv[3]);
  expect(zhuyi_load("/no/such/model", &error) == NULL, "no model");
  expect_error(&error, "/no/such/model");
  const char* twice[] = {argv[1], argv[1]};
  const double weights[] = {1, -1};
  expect(zhuyi_load_ensemble(twice, weights, 2, &error) == NULL, "a weight below 0");
  expect_error(&error, "weight");
  expect(zhuyi_load_ensemble(NULL, NULL, 0, &error) == NULL, "no models");
  expect_error(&error, "no model");
  expect(zhuyi_translate_line(NULL, "", NULL, &error) == NULL, "no translator");
  expect_error(&error, "the translator is NULL");
  const char* nothing[] = {NULL};
  expect(zhuyi_translate(translator, nothing, 1, NULL, &error) == NULL, "no line");
  expect_error(&error, "lines[0] is NULL");
  zhuyi_result_free(NULL);
  zhuyi_options_free(NULL);
  zhuyi_free(NULL);
  zhuyi_free(translator);
  return failures == 0 ? 0 : 1;
}
