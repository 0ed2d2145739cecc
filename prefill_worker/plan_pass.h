/* Which rows run next: how one pass of at most `chunk` rows is shared among the prompts that wait.
 *
 * Shortest remaining first, with ageing: a prompt's rank is its remaining tokens less a quarter of
 * the tokens that could have been computed while it waited, and the lowest rank goes first. So a
 * prompt is overtaken only by those that arrive before it has waited four times as long as all of
 * it takes to compute; whatever arrives later comes after it, however short. (A bound that the
 * tests hold it to. With full weight, a queue of a few long prompts would be as good as first come,
 * first served to a short one; the quarter lets it pass, and still nobody starves.)
 *
 * A share ends where its prompt ends or at a whole KV block, so that shares begin at whole blocks.
 * What one prompt leaves of a pass goes to the next ones.
 *
 * Ownership: plain data.
 * Threading: pure functions.
 * Errors:    none.
 */
#ifndef BATON_PREFILL_PLAN_PASS_H
#define BATON_PREFILL_PLAN_PASS_H

#include <stdbool.h>

enum { PF_MAX_SHARES = 32 }; /* prompts of a worker's pass */

/* One prompt that could run. */
struct pf_load {
    int n_remaining; /* tokens to compute, at least 1 */
    double waited_s;
    bool alone; /* shares a pass with nobody: such ones and the others take turns */
};

struct pf_pass_limits {
    int chunk;           /* rows of a pass, a multiple of BATON_KV_BLOCK_TOKENS */
    int max_shares;      /* prompts of a pass */
    double tokens_per_s; /* at which prompts are computed; 0: not known, nobody ages */
    bool others_turn;    /* the last pass was one's alone */
};

struct pf_share {
    int load; /* index */
    int n_tokens;
};

/* Fills shares [max_shares], the first in rank first (of equals, the first in the list); returns
 * how many. At least one when there is a load. */
int pf_plan_pass(const struct pf_load *loads, int n_loads, const struct pf_pass_limits *limits,
                 struct pf_share *shares);

#endif
