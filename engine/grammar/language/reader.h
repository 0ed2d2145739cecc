/* A text that is read character by character, and the list of expressions of the sequence or choice
 * being read; private to engine/grammar.
 *
 * Ownership: the text is borrowed; fini frees the list.
 * Threading: one owner at a time.
 * Errors:    in the caller's why; the first one stays.
 */
#ifndef BATON_ENGINE_GRAMMAR_LANGUAGE_READER_H
#define BATON_ENGINE_GRAMMAR_LANGUAGE_READER_H

#include "engine/grammar/language/expr.h"

enum { BATON_READER_MAX_DEPTH = 128, BATON_READER_MAX_REPEAT = 10000 };

struct baton_reader {
    struct baton_exprs *exprs;
    const char *text;
    size_t n, at;
    struct baton_why *why;
    enum baton_err err;
    int depth; /* of groups */
    uint32_t *list;
    size_t n_list, cap_list;
};

void baton_reader_fini(struct baton_reader *reader);

static inline bool baton_reader_at_end(const struct baton_reader *reader)
{
    return reader->err || reader->at >= reader->n;
}

/* Returns the byte after so many bytes from here; 0 past the end. */
static inline char baton_reader_peek(const struct baton_reader *reader, size_t after)
{
    return !reader->err && reader->at + after < reader->n ? reader->text[reader->at + after] : 0;
}

/* Skips the text if it is next. */
bool baton_reader_take(struct baton_reader *reader, const char *text);

/* Reads one character of UTF-8; 0 after an error. */
uint32_t baton_reader_char(struct baton_reader *reader);

/* Reads n hexadecimal digits. */
uint32_t baton_reader_hex(struct baton_reader *reader, int n);

/* Reads a decimal number up to BATON_READER_MAX_REPEAT. */
uint32_t baton_reader_number(struct baton_reader *reader);

/* Reads m}, m,} or m,n} after the "{". */
void baton_reader_bounds(struct baton_reader *reader, uint32_t *min, uint32_t *max);

/* Fails with INVALID, the reason and its byte. */
void baton_reader_fail(struct baton_reader *reader, const char *reason);

/* Adds to the list. seq and alt join all expressions after the first n into one, and remove
 * them. */
void baton_reader_push(struct baton_reader *reader, uint32_t expr);
uint32_t baton_reader_seq(struct baton_reader *reader, size_t n);
uint32_t baton_reader_alt(struct baton_reader *reader, size_t n);

/* Returns the error of the reader or of the expressions. */
static inline enum baton_err baton_reader_err(const struct baton_reader *reader)
{
    return reader->err ? reader->err : reader->exprs->err;
}

#endif
