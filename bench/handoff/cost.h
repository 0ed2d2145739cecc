/* The cost of a hand-off over a network, compared with computing the prompt on the decode worker.
 *
 * setup_s and bytes_per_s describe this machine's own part and come from measured lengths.
 *
 *     transfer = setup + latency + bytes / min(own speed, bandwidth, credit / round trip)
 *     exposed  = max(transfer - prefill, transfer of the last layer alone)
 *
 * The second line is the time that remains when each layer leaves as soon as it is computed: the
 * last layer cannot leave before all are. Not included: the time of the logits and of the first
 * token's way, which hide a part of it, and TCP's slow start.
 *
 * Ownership: plain values; points are borrowed.
 * Threading: pure functions.
 * Errors:    none.
 */
#ifndef BATON_BENCH_HANDOFF_COST_H
#define BATON_BENCH_HANDOFF_COST_H

#include <stdint.h>

/* A measured length of a prompt; lengths ascend. */
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
    double setup_s, bytes_per_s; /* set by ho_curve_fit */
};

/* 0: no limit, or no latency. */
struct ho_network {
    double bytes_per_s, latency_s; /* one way */
};

/* Sets setup_s and bytes_per_s: the line through the shortest and the longest transfer. */
void ho_curve_fit(struct ho_curve *curve);

/* Return the times for any number of tokens. Prefill is interpolated and extrapolated linearly, but
 * below the first point it is never less than in proportion to it. */
double ho_prefill_s(const struct ho_curve *curve, double n_tokens);
double ho_transfer_s(const struct ho_curve *curve, const struct ho_network *network,
                     double n_tokens);
double ho_exposed_s(const struct ho_curve *curve, const struct ho_network *network,
                    double n_tokens);

typedef double ho_cost_fn(const struct ho_curve *curve, const struct ho_network *network,
                          double n_tokens);

/* Returns the shortest prompt, up to max_tokens, from which on the hand-off costs less than
 * computing the prompt; 0: there is none. */
int ho_break_even(const struct ho_curve *curve, const struct ho_network *network, int max_tokens,
                  ho_cost_fn *cost);

#endif
