/* A language as expressions over bytes, in one arena: the common form of schemas, patterns and
 * GBNF.
 *
 *     expression   empty | nothing | a byte in a range | a then b | a or b | a{min,max} | rule
 *
 * Expressions are identified by index and may be used many times. Rules are named expressions, and
 * the only form of recursion. Rule 0 is the language itself.
 *
 * Ownership: an embedded struct that owns its arrays and the rules' labels.
 * Threading: one owner at a time.
 * Errors:    sticky: after the first one (LIMIT: more than BATON_MAX_EXPRS, NO_MEMORY) every
 *            function returns the empty expression, and err says so.
 */
#ifndef BATON_ENGINE_GRAMMAR_LANGUAGE_EXPR_H
#define BATON_ENGINE_GRAMMAR_LANGUAGE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "engine/grammar/language/chars.h"

enum { BATON_MAX_EXPRS = 1 << 18, BATON_MAX_RULES = 1 << 14 };
#define BATON_NO_MAX UINT32_MAX /* of a repetition */

enum baton_expr_kind {
    BATON_EXPR_EMPTY, /* the empty text */
    BATON_EXPR_NEVER, /* no text at all */
    BATON_EXPR_BYTE,  /* one byte from a to b */
    BATON_EXPR_SEQ,   /* a, then b */
    BATON_EXPR_ALT,   /* a or b */
    BATON_EXPR_REPEAT,
    BATON_EXPR_RULE, /* a reference to rule a */
};

struct baton_expr {
    enum baton_expr_kind kind;
    uint32_t a, b;
    uint32_t min, max; /* of a repetition of a */
};

struct baton_rule {
    uint32_t expr;
    char *label; /* its place in the source, for messages: a path in a schema, a name */
};

struct baton_exprs {
    struct baton_expr *items;
    size_t n, cap;
    struct baton_rule *rules;
    size_t n_rules, cap_rules;
    enum baton_err err;
};

/* Frees everything. A zeroed struct needs no other initialisation. */
void baton_exprs_fini(struct baton_exprs *exprs);

uint32_t baton_expr_empty(struct baton_exprs *exprs);
uint32_t baton_expr_never(struct baton_exprs *exprs);
uint32_t baton_expr_byte(struct baton_exprs *exprs, uint8_t low, uint8_t high);
/* Matches exactly these bytes. */
uint32_t baton_expr_bytes(struct baton_exprs *exprs, const char *bytes, size_t n);
/* Matches exactly this zero-terminated text. */
uint32_t baton_expr_text(struct baton_exprs *exprs, const char *text);
uint32_t baton_expr_seq(struct baton_exprs *exprs, uint32_t a, uint32_t b);
uint32_t baton_expr_alt(struct baton_exprs *exprs, uint32_t a, uint32_t b);
/* Matches a min to max times; max may be BATON_NO_MAX. */
uint32_t baton_expr_repeat(struct baton_exprs *exprs, uint32_t a, uint32_t min, uint32_t max);
uint32_t baton_expr_maybe(struct baton_exprs *exprs, uint32_t a);
/* Matches one character of the set, in UTF-8. Surrogates are excluded. */
uint32_t baton_expr_chars(struct baton_exprs *exprs, const struct baton_chars *chars);

/* Adds a rule that matches nothing until it is set; label is copied. */
uint32_t baton_expr_rule_add(struct baton_exprs *exprs, const char *label);
void baton_expr_rule_set(struct baton_exprs *exprs, uint32_t rule, uint32_t expr);
uint32_t baton_expr_rule(struct baton_exprs *exprs, uint32_t rule);

#endif
