/* The cost of a hand-off over a network, beside computing the prompt on the decode worker.
 *
 * From measured lengths:  setup_s and bytes_per_s of this machine's own part of the way.
 *
 *     transfer = setup + latency + bytes / min(own speed, bandwidth, credit / round trip)
 *     exposed  = max(transfer - prefill, transfer of the last layer alone)
 *
 * The second line is what remains when each layer leaves as soon as it is computed: the last layer
 * cannot leave before all are. Not counted: the time of the logits and of the first token's trip,
 * which hide some of it, and TCP's slow start.
 *
 * Ownership: plain values; points are borrowed.
 * Threading: pure functions.
 * Errors:    none.
 */
#ifndef BATON_BENCH_HANDOFF_COST_H
#define BATON_BENCH_HANDOFF_COST_H

#include <stdint.h>

/* A prompt's length as measured; lengths ascend. */
struct ho_point {
    int n_tokens;
    uint64_t n_bytes;
    double prefill_s, transfer_s;
};

struct ho_curve {
    const struct ho_point *points;
    int n_points; /* >= 1 */
    int n_layers, block_tokens;
    double bytes_per_token;
    double setup_s, bytes_per_s; /* ho_curve_fit's */
};

/* 0: no limit, none. */
struct ho_network {
    double bytes_per_s, latency_s; /* one way */
};

/* Fills in setup_s and bytes_per_s: the line through the shortest and the longest transfer. */
void ho_curve_fit(struct ho_curve *curve);

/* For any number of tokens: prefill between and beyond the points by straight lines, but below the
 * first one never less than in proportion to it. */
double ho_prefill_s(const struct ho_curve *curve, double n_tokens);
double ho_transfer_s(const struct ho_curve *curve, const struct ho_network *network,
                     double n_tokens);
double ho_exposed_s(const struct ho_curve *curve, const struct ho_network *network,
                    double n_tokens);

typedef double ho_cost_fn(const struct ho_curve *curve, const struct ho_network *network,
                          double n_tokens);

/* The shortest prompt, up to max_tokens, from which on the hand-off costs less than computing the
 * prompt; 0: there is none. */
int ho_break_even(const struct ho_curve *curve, const struct ho_network *network, int max_tokens,
                  ho_cost_fn *cost);

#endif
