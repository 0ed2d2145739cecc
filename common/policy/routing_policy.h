/* Chooses the worker that a request is routed to, by rules over the workers' reported state.
 *
 *     round-robin   the worker that was chosen longest ago
 *     least-loaded  prefill: the shortest wait, queued tokens / tokens per second
 *                   decode:  the fewest requests, weighed by the time of a step; then the most free
 *                            blocks
 *     prefix-aware  prefill: the longest cached prefix, unless that worker's wait is longer than
 *                            the shortest one by more than the time that the prefix saves
 *                   decode:  of the least loaded workers, the one that has most of the prompt
 *
 * Equal workers take turns. The machine's other work disturbs measured speeds, so speeds within a
 * factor of two count as equal, and idle workers are equal whatever was measured last.
 *
 * Pure.
 */
#ifndef BATON_COMMON_POLICY_ROUTING_POLICY_H
#define BATON_COMMON_POLICY_ROUTING_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum baton_routing_policy {
    BATON_ROUTING_ROUND_ROBIN,
    BATON_ROUTING_LEAST_LOADED,
    BATON_ROUTING_PREFIX_AWARE
};

/* A prefill worker that may be chosen. */
struct baton_routing_prefill_view {
    int64_t queued_tokens;  /* of prompts that are not computed yet */
    int64_t matched_tokens; /* of this prompt, cached there as far as known */
    double tokens_per_s;    /* 0: unknown */
    uint64_t turn;          /* number of its last choice; the lowest is longest ago */
};

/* A decode worker that may be chosen: it has capacity for the request. */
struct baton_routing_decode_view {
    int64_t n_requests; /* running, waiting, reserved */
    int64_t n_free_blocks;
    int64_t matched_tokens;
    double step_s; /* its last step; 0: unknown */
    uint64_t turn;
};

/* Return the index of the worker to choose among views [n], n >= 1. */
size_t baton_routing_prefill(enum baton_routing_policy policy,
                             const struct baton_routing_prefill_view *views, size_t n);
size_t baton_routing_decode(enum baton_routing_policy policy,
                            const struct baton_routing_decode_view *views, size_t n);

/* True when a prefill worker has enough prompts to choose the shortest from, and to be busy until
 * it is sent more. It is sent none meanwhile: a prompt that waits at the gateway can still be
 * refused, run out of time at no cost, or go to another worker. n_requests are at the worker and
 * not computed yet; wait_s is the time until they are, NAN if unknown. */
bool baton_routing_is_backlogged(int64_t n_requests, double wait_s);

/* A prompt that the decode worker could run itself, beside its steps, and the alternative: a
 * prefill worker and a hand-off. */
struct baton_routing_colocated_view {
    int64_t prompt_tokens;           /* not cached at the decode worker */
    int64_t more_tokens;             /* besides these, not cached at the prefill worker */
    int64_t colocated_queued_tokens; /* of other such prompts, at the decode worker */
    double colocated_tokens_per_s;   /* 0: unknown, assumed to be the prefill worker's */
    double step_s;                   /* the step that it must wait for; 0: nothing runs */
    int64_t queued_tokens;           /* at the prefill worker */
    double tokens_per_s;             /* 0: unknown */
    double handoff_s;                /* from the first token to the received context */
};

/* True when the second token is predicted to come sooner if the decode worker runs the prompt. */
bool baton_routing_colocated_is_faster(const struct baton_routing_colocated_view *view);

/* Returns the time that tokens take at a rate; NAN when there are any and the rate is unknown. */
double baton_routing_wait_s(int64_t n_tokens, double tokens_per_s);

#endif
