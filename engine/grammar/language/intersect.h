/* The intersection of regular languages: texts that match some expressions, and none of others.
 *
 *     expressions -> one nondeterministic automaton -> sets of its states -> a rule for each set
 *
 * Ownership: none; rules are added to the expressions.
 * Threading: pure.
 * Errors:    INVALID (an expression is recursive), LIMIT (more than BATON_MAX_MEETS states),
 *            NO_MEMORY. They leave exprs usable.
 */
#ifndef BATON_ENGINE_GRAMMAR_LANGUAGE_INTERSECT_H
#define BATON_ENGINE_GRAMMAR_LANGUAGE_INTERSECT_H

#include "engine/grammar/language/expr.h"

enum {
    BATON_MAX_MEETS = 8192,
    BATON_MAX_PARTS = 8,
    BATON_MAX_MEET_WORK = 1 << 23, /* states put into sets, of all intersections of a grammar */
};

struct baton_part {
    uint32_t expr;
    bool is_excluded; /* texts must not match it */
    /* If not 0, this stands in place of expr: multiples of modulus with up to n_decimals decimals,
     * in units of the last one. */
    uint32_t modulus, n_decimals;
};

/* *expr is the language of all n parts, at most BATON_MAX_PARTS; label names its rules. *work grows
 * by the work done, up to BATON_MAX_MEET_WORK. */
enum baton_err baton_expr_intersect(struct baton_exprs *exprs, const struct baton_part *parts,
                                    size_t n, const char *label, size_t *work,
                                    uint32_t *expr) BATON_MUST_CHECK;

#endif
