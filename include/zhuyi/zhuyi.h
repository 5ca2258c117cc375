#ifndef ZHUYI_ZHUYI_H
#define ZHUYI_ZHUYI_H
/* Zhuyi for C and for every language that can call C.
 *
 * Handles are opaque and freed by the function of their name; freeing NULL does nothing. Functions that can fail take
 * `error`: on failure they return NULL or 0 and, unless `error` is NULL, set *error to a message that
 * zhuyi_free_string() frees; on success *error is left alone. Texts are UTF-8, ended by NUL. A translator may be used
 * by many threads at once; options and results by one at a time, or by many that only read them.
 */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct zhuyi_translator zhuyi_translator;
typedef struct zhuyi_options zhuyi_options;
typedef struct zhuyi_result zhuyi_result;

/* "1.2.3"; not to be freed. */
const char* zhuyi_version(void);
/* Frees a text or an error message. */
void zhuyi_free_string(char* text);

/* Loads a model file. NULL on failure. */
zhuyi_translator* zhuyi_load(const char* model, char** error);
/* Several models with one vocabulary as an ensemble; `weights` may be NULL. NULL on failure. */
zhuyi_translator* zhuyi_load_ensemble(const char* const* models, const double* weights, size_t count, char** error);
void zhuyi_free(zhuyi_translator* translator);

/* The options by default. NULL when there is no memory. */
zhuyi_options* zhuyi_options_new(void);
/* Sets an option by the name that zhuyi translate has for it, without the dashes, to a value of the form that it has
 * there: "beam" "2", "length-penalty" "power", "memory" "200M", ... Flags are "true" or "false": "sample", "no-split",
 * "rescore-reverse", ... These add one at a time: "ban" a text, "ban-pieces" and "suppress-pieces" pieces with spaces
 * between, "phrases" phrases with tabs between ("one|or the other"), "glossary" a line "term TAB target|target".
 * 1, or 0 on failure. */
int zhuyi_options_set(zhuyi_options* options, const char* name, const char* value, char** error);
/* Reads a file of zhuyi shortlist, for this translator. 1, or 0 on failure. */
int zhuyi_options_shortlist(zhuyi_options* options, const zhuyi_translator* translator, const char* file, char** error);
/* The score of another translator, times "rescore-weight", is added to those of the best; NULL: none. The options keep
 * what they need of it, so it may be freed before them. 1, or 0 on failure. */
int zhuyi_options_rescorer(zhuyi_options* options, const zhuyi_translator* rescorer, char** error);
/* `stop(data)` is asked now and then, by any thread; when it gives other than 0, the translation fails. NULL: none. */
void zhuyi_options_interrupt(zhuyi_options* options, int (*stop)(void* data), void* data);
void zhuyi_options_free(zhuyi_options* options);

/* Translates lines; many at once are faster than one by one. `options` may be NULL. NULL on failure. */
zhuyi_result* zhuyi_translate(const zhuyi_translator* translator, const char* const* lines, size_t count,
                              const zhuyi_options* options, char** error);
/* One line to one text, which zhuyi_free_string() frees. `options` may be NULL. NULL on failure. */
char* zhuyi_translate_line(const zhuyi_translator* translator, const char* line, const zhuyi_options* options,
                           char** error);
/* Sets scores[i] to the natural log-probability of targets[i] as the translation of sources[i]. 1, or 0 on failure. */
int zhuyi_score(const zhuyi_translator* translator, const char* const* sources, const char* const* targets,
                size_t count, double* scores, char** error);

/* What a result has. Texts live as long as it does; where there is nothing, they are NULL, and numbers are 0. */
void zhuyi_result_free(zhuyi_result* result);
size_t zhuyi_result_lines(const zhuyi_result* result);
/* The text of the best alternative; "" for a blank line. */
const char* zhuyi_result_text(const zhuyi_result* result, size_t line);
/* Alternatives of a line, best first; 0 for a blank one. */
size_t zhuyi_result_alternatives(const zhuyi_result* result, size_t line);
const char* zhuyi_result_alternative(const zhuyi_result* result, size_t line, size_t alternative);
/* What the search ranks by. */
double zhuyi_result_score(const zhuyi_result* result, size_t line, size_t alternative);
/* The natural log-probability. */
double zhuyi_result_log_probability(const zhuyi_result* result, size_t line, size_t alternative);
/* 1, or 0 when the maximum length cut it short. */
int zhuyi_result_finished(const zhuyi_result* result, size_t line, size_t alternative);
/* Words (or characters of a script without spaces) of an alternative, and the log-probability of each. */
size_t zhuyi_result_words(const zhuyi_result* result, size_t line, size_t alternative);
const char* zhuyi_result_word(const zhuyi_result* result, size_t line, size_t alternative, size_t word);
double zhuyi_result_word_log_probability(const zhuyi_result* result, size_t line, size_t alternative, size_t word);
/* Pieces of an alternative. */
size_t zhuyi_result_pieces(const zhuyi_result* result, size_t line, size_t alternative);
const char* zhuyi_result_piece(const zhuyi_result* result, size_t line, size_t alternative, size_t piece);
/* With the option "alignment" other than "none": the pieces of the source, the rows of weights over them (one for each
 * piece of the alternative, and one for the end of each part that was translated on its own), and a weight. */
size_t zhuyi_result_source_pieces(const zhuyi_result* result, size_t line);
const char* zhuyi_result_source_piece(const zhuyi_result* result, size_t line, size_t source_piece);
size_t zhuyi_result_attention_rows(const zhuyi_result* result, size_t line, size_t alternative);
double zhuyi_result_attention(const zhuyi_result* result, size_t line, size_t alternative, size_t row,
                              size_t source_piece);

#ifdef __cplusplus
}
#endif

#endif
