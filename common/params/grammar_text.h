/* A constraint on the output as the client gave it: a notation and its text.
 *
 * Ownership: a text owns its bytes; a zeroed one is valid to fini.
 * Threading: plain data.
 * Errors:    copy: NO_MEMORY.
 */
#ifndef BATON_COMMON_PARAMS_GRAMMAR_TEXT_H
#define BATON_COMMON_PARAMS_GRAMMAR_TEXT_H

#include <stddef.h>

#include "common/base/error.h"

enum { BATON_GRAMMAR_MAX_BYTES = 256 << 10 };

/* Numbered as in the message Grammar. */
enum baton_grammar_kind {
    BATON_GRAMMAR_NONE,
    BATON_GRAMMAR_JSON_SCHEMA, /* a JSON text that is valid by the schema */
    BATON_GRAMMAR_REGEX,       /* the whole output matches */
    BATON_GRAMMAR_GBNF,        /* llama.cpp's notation; begins with the rule root */
    BATON_GRAMMAR_STRUCTURE,   /* text, special tokens, schemas and patterns, as JSON */
};

/* A grammar as the client gave it. */
struct baton_grammar_text {
    enum baton_grammar_kind kind;
    char *bytes; /* [n], and a terminating zero */
    size_t n;
};

/* Copies the text with its bytes. *to is unchanged on an error. */
enum baton_err baton_grammar_text_copy(struct baton_grammar_text *to,
                                       const struct baton_grammar_text *from) BATON_MUST_CHECK;
void baton_grammar_text_fini(struct baton_grammar_text *text);

#endif
