/* The state that the two files of the lexer share; private to them.
 *
 * Ownership: the lexer is embedded; tokens are the arena's.
 * Threading: pure.
 * Errors:    the first failure, with its line, stays in err.
 */
#ifndef BATON_GATEWAY_CHAT_JINJA_PARSE_LEXER_PARTS_H
#define BATON_GATEWAY_CHAT_JINJA_PARSE_LEXER_PARTS_H

#include <stdbool.h>

#include "gateway/chat/jinja/parse/lexer.h"

enum { JINJA_MAX_BRACKETS = 256 };

struct jinja_lexer {
    struct baton_arena *arena;
    const char *source;
    size_t n, at;
    int line;
    bool line_start; /* the previous tag ended with a line break */
    char brackets[JINJA_MAX_BRACKETS];
    size_t n_brackets;
    struct jinja_tokens *tokens;
    enum baton_err err;
    struct baton_why *why;
};

void jinja_lex_fail(struct jinja_lexer *lexer, const char *what);
void *jinja_lex_alloc(struct jinja_lexer *lexer, size_t n);

/* Returns the byte that far ahead; 0 after the end. */
char jinja_lex_peek(const struct jinja_lexer *lexer, size_t ahead);
bool jinja_lex_at(const struct jinja_lexer *lexer, const char *text);
/* Skips n bytes and counts their lines. */
void jinja_lex_skip(struct jinja_lexer *lexer, size_t n);

struct jinja_token *jinja_lex_push(struct jinja_lexer *lexer, enum jinja_token_kind kind);
void jinja_lex_push_text(struct jinja_lexer *lexer, enum jinja_token_kind kind, const char *text,
                         size_t n);

/* Adds a token for the text, number, name or operator at the lexer. */
void jinja_lex_piece(struct jinja_lexer *lexer);

#endif
