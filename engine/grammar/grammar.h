/* The texts that constrain an output (schemas, patterns, grammars), and the network that a text
 * means.
 *
 * Ownership: the network is the caller's; text is only read.
 * Threading: pure.
 * Errors:    read: INVALID with the reason, and in a schema the path to it; LIMIT (longer than
 *            BATON_GRAMMAR_MAX_BYTES, too many states), NO_MEMORY.
 */
#ifndef BATON_ENGINE_GRAMMAR_GRAMMAR_H
#define BATON_ENGINE_GRAMMAR_GRAMMAR_H

#include "common/params/grammar_text.h"
#include "engine/grammar/automaton/network.h"

enum {
    /* In a vocabulary's texts a special token's name follows this byte, which UTF-8 never has: only
     * a structure that names the token reads it. */
    BATON_SPECIAL_MARK = 0xff,
};

enum baton_err baton_grammar_read(enum baton_grammar_kind kind, const char *text, size_t n,
                                  struct baton_network **network,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* The reader of each notation. It fills exprs, whose rule 0 is the language. */
enum baton_err baton_regex_read(struct baton_exprs *exprs, const char *text, size_t n,
                                struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_gbnf_read(struct baton_exprs *exprs, const char *text, size_t n,
                               struct baton_why *why) BATON_MUST_CHECK;
/* Likewise, into exprs that have rules already; *expr is the rule root. */
enum baton_err baton_gbnf_parse(struct baton_exprs *exprs, const char *text, size_t n,
                                uint32_t *expr, struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_schema_read(struct baton_exprs *exprs, const char *text, size_t n,
                                 struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_structure_read(struct baton_exprs *exprs, const char *text, size_t n,
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif
