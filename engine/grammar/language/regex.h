/* Reads regular expressions; private to engine/grammar.
 *
 * It reads the part of ECMA-262's and PCRE's syntax that describes a regular language: literals,
 * ".", classes, \d \w \s and their complements, groups, "|", * + ? {m,n} (also lazy, which is the
 * same language), and ^ $ at the ends of the pattern or of one of its alternatives. Classes are
 * ASCII's, as in ECMA-262. Look-around, back-references and \b are refused.
 *
 * Ownership: none.
 * Threading: pure.
 * Errors:    INVALID with the byte and the reason, LIMIT, NO_MEMORY.
 */
#ifndef BATON_ENGINE_GRAMMAR_LANGUAGE_REGEX_H
#define BATON_ENGINE_GRAMMAR_LANGUAGE_REGEX_H

#include "engine/grammar/language/expr.h"

struct baton_regex_options {
    /* The text is inside a JSON string: a quote is \", a line end \n. */
    bool in_json;
    /* Without ^ or $ other text may come before or after. */
    bool search;
};

/* The number of characters of the matches. */
struct baton_regex_length {
    uint32_t min, max; /* max BATON_NO_MAX: no bound */
};

enum baton_err baton_regex_parse(struct baton_exprs *exprs, const char *text, size_t n,
                                 const struct baton_regex_options *options, uint32_t *expr,
                                 struct baton_regex_length *length,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Matches one character of the set inside a JSON string, in its shortest form. */
uint32_t baton_expr_json_chars(struct baton_exprs *exprs, const struct baton_chars *chars);

#endif
