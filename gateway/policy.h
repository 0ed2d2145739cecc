/* Which of several workers to take: pure functions over what is known of them.
 *
 *     round-robin   the one not taken for longest
 *     least-loaded  prefill: the shortest wait, queued tokens / tokens per second
 *                   decode:  the fewest requests, weighed by the time of a step; then the most room
 *     prefix-aware  prefill: the longest match, unless its wait is longer than the shortest by more
 *                   than the time that the match saves
 *                   decode:  of the least loaded, the one that has most of the prompt
 *
 * Equals take turns. Speeds are measured on machines that do other things, too: those within a
 * factor of two count as the same, and idle workers are equal whatever their last measurement.
 *
 * Ownership: none.
 * Threading: pure functions.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_POLICY_H
#define BATON_GATEWAY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gw_policy { GW_POLICY_ROUND_ROBIN, GW_POLICY_LEAST_LOADED, GW_POLICY_PREFIX_AWARE };

/* By its name above; false for another one. */
bool gw_policy_parse(const char *name, enum gw_policy *policy);

/* A prefill worker that may be taken. */
struct gw_prefill_view {
    int64_t queued_tokens;  /* of prompts, not computed yet */
    int64_t matched_tokens; /* of this prompt, computed there before as far as known */
    double tokens_per_s;    /* 0: not known */
    uint64_t turn;          /* when it was last taken; the lowest is longest ago */
};

/* A decode worker that may be taken: it has room for the request. */
struct gw_decode_view {
    int64_t n_requests; /* running, waiting, reserved */
    int64_t n_free_blocks;
    int64_t matched_tokens;
    double step_s; /* its last step; 0: not known */
    uint64_t turn;
};

/* The one to take, n >= 1. */
size_t gw_policy_prefill(enum gw_policy policy, const struct gw_prefill_view *views, size_t n);
size_t gw_policy_decode(enum gw_policy policy, const struct gw_decode_view *views, size_t n);

/* A prompt that the decode worker could run itself, and the alternative. */
struct gw_colocated_view {
    int64_t prompt_tokens;           /* not cached */
    int64_t colocated_queued_tokens; /* of other such prompts, at the decode worker */
    double colocated_tokens_per_s;   /* 0: not known, taken to be the prefill worker's */
    double step_s;                   /* that it must wait for; 0: nothing runs */
    int64_t queued_tokens;           /* at the prefill worker */
    double tokens_per_s;             /* 0: not known */
    double handoff_s;                /* first token to context placed */
};

/* The second token is predicted to come sooner when the decode worker runs the prompt. */
bool gw_policy_colocated_is_faster(const struct gw_colocated_view *view);

/* How long tokens take at a rate; NAN when the rate is not known and there are any. */
double gw_policy_wait_s(int64_t n_tokens, double tokens_per_s);

#endif
