/* A bound on the tokens of a model's reasoning, and the tokens that close it there.
 *
 * Reasoning lies between two markers. They are texts, because a vocabulary may spell a marker in
 * several ways.
 *
 * Ownership: a budget owns its ids; a zeroed one is valid to fini, and is no bound.
 * Threading: plain data.
 * Errors:    copy: NO_MEMORY.
 */
#ifndef BATON_COMMON_PARAMS_THINKING_BUDGET_H
#define BATON_COMMON_PARAMS_THINKING_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { BATON_MAX_THINKING_MARKER = 47, BATON_MAX_THINKING_CLOSE = 512 };

struct baton_thinking_budget {
    char begin[BATON_MAX_THINKING_MARKER + 1]; /* "<think>"; "": only with is_open */
    char end[BATON_MAX_THINKING_MARKER + 1];   /* "</think>"; "": no bound */
    bool is_open;                              /* the prompt has written begin */
    bool repeats;                              /* begin counts everywhere, not only at the start */
    uint32_t max_tokens;                       /* between the markers, all thoughts together */
    uint32_t *close; /* [n_close] forced after max_tokens: end, and what follows it */
    size_t n_close;
    size_t n_first; /* 1..n_close: as many are forced the first time */
};

static inline bool baton_thinking_budget_is_set(const struct baton_thinking_budget *budget)
{
    return *budget->end;
}

/* *to is unchanged on an error. */
enum baton_err
baton_thinking_budget_copy(struct baton_thinking_budget *to,
                           const struct baton_thinking_budget *from) BATON_MUST_CHECK;
void baton_thinking_budget_fini(struct baton_thinking_budget *budget);

#endif
