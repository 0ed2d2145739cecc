/* A template's source as tokens; private to gateway/chat/jinja.
 *
 * The lexer cuts white space around tags as Jinja does with trim_blocks and lstrip_blocks: a line
 * break right after a block is cut, and so is white space before a block on its line, unless a sign
 * says otherwise.
 *
 * Ownership: the arena's; texts without escapes point into the source.
 * Threading: pure.
 * Errors:    INVALID with the line, NO_MEMORY.
 */
#ifndef BATON_GATEWAY_CHAT_JINJA_PARSE_LEXER_H
#define BATON_GATEWAY_CHAT_JINJA_PARSE_LEXER_H

#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"

enum jinja_token_kind {
    JINJA_T_END,
    JINJA_T_DATA,        /* text between tags */
    JINJA_T_PRINT_BEGIN, /* {{ */
    JINJA_T_PRINT_END,
    JINJA_T_BLOCK_BEGIN, /* {% */
    JINJA_T_BLOCK_END,
    JINJA_T_NAME,
    JINJA_T_STRING,
    JINJA_T_INT,
    JINJA_T_FLOAT,
    JINJA_T_OP
};

struct jinja_token {
    enum jinja_token_kind kind;
    int line;
    int op;
    const char *text; /* DATA, NAME, STRING: n bytes */
    size_t n;
    int64_t integer;
    double real;
};

struct jinja_tokens {
    struct jinja_token *items; /* the last is END */
    size_t n, cap;
};

/* Splits a source, which must outlive the tokens. */
enum baton_err jinja_lex(struct baton_arena *arena, const char *source, size_t n,
                         struct jinja_tokens *tokens, struct baton_why *why) BATON_MUST_CHECK;

#endif
