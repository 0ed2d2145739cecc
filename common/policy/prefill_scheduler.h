/* The prefill scheduler: chooses the prompts of the next step, and the number of tokens of each.
 *
 * Shortest remaining first, with ageing: a prompt's rank is its remaining tokens less a quarter of
 * the tokens that could have been computed while it waited, and the lowest rank goes first. So a
 * prompt is overtaken only by those that arrive before it has waited four times as long as all of
 * it takes to compute; prompts that arrive later run after it, however short they are. (The tests
 * hold the rule to this bound. With full weight, a queue of a few long prompts would be as good as
 * first come, first served to a short one; the quarter lets the short one pass, and no prompt
 * starves.)
 *
 * Batch prompts run after all interactive ones, except in steps in which it is their turn to go
 * first (common/policy/priority.h), and among themselves by the same rule.
 *
 * A chunk ends where its prompt ends or at a whole KV block, so that chunks begin at whole blocks.
 * The next prompts use the tokens of a step that one prompt leaves.
 *
 * Pure.
 */
#ifndef BATON_COMMON_POLICY_PREFILL_SCHEDULER_H
#define BATON_COMMON_POLICY_PREFILL_SCHEDULER_H

#include <stdbool.h>

#include "common/policy/priority.h"

enum { BATON_PREFILL_MAX_CHUNKS = 32 }; /* prompts of a worker's step */

/* A prompt that can run. */
struct baton_prefill_candidate {
    int n_remaining; /* tokens to compute, at least 1 */
    double waited_s;
    bool alone; /* shares no step: such prompts and the others take turns */
    enum baton_priority priority;
};

struct baton_prefill_limits {
    int max_tokens;            /* of a step, a multiple of block_tokens */
    int block_tokens;          /* of a KV block */
    int max_chunks;            /* prompts of a step */
    double tokens_per_s;       /* rate at which prompts are computed; 0: unknown, no prompt ages */
    bool whole;                /* no prompt is cut: one that is longer than a step runs alone */
    bool others_turn;          /* the last step ran a prompt alone */
    enum baton_priority first; /* class that goes first */
};

/* The next n_tokens of candidates[candidate]. */
struct baton_prefill_chunk {
    int candidate;
    int n_tokens;
};

/* Divides the next step among candidates [n]: fills chunks [max_chunks], the lowest rank first
 * (of equals, the first in the list), and returns their number, at least one when there is a
 * candidate. */
int baton_prefill_schedule(const struct baton_prefill_candidate *candidates, int n,
                           const struct baton_prefill_limits *limits,
                           struct baton_prefill_chunk *chunks);

#endif
