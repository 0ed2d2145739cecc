#include "bench/handoff/cost.h"

#include <math.h>

#include "common/wire/handoff.h"

void ho_curve_fit(struct ho_curve *curve)
{
    const struct ho_point *first = &curve->points[0], *last = &curve->points[curve->n_points - 1];
    double more_s = last->transfer_s - first->transfer_s;
    double more_bytes = (double)last->n_bytes - (double)first->n_bytes;
    curve->bytes_per_s = more_bytes > 0 && more_s > 0 ? more_bytes / more_s
                                                      : (double)last->n_bytes / last->transfer_s;
    curve->setup_s = fmax(first->transfer_s - (double)first->n_bytes / curve->bytes_per_s, 0);
}

double ho_prefill_s(const struct ho_curve *curve, double n_tokens)
{
    const struct ho_point *a = &curve->points[0], *b = a;
    if (curve->n_points == 1)
        return a->prefill_s * n_tokens / a->n_tokens;
    for (int i = 1; i < curve->n_points && b->n_tokens < n_tokens; i++) {
        a = b;
        b = &curve->points[i];
    }
    /* Before the first point the line from the first to the second one continues. */
    if (a == b)
        b = &curve->points[1];
    double slope = (b->prefill_s - a->prefill_s) / (b->n_tokens - a->n_tokens);
    double least = fmin(n_tokens / curve->points[0].n_tokens, 1) * curve->points[0].prefill_s;
    return fmax(a->prefill_s + slope * (n_tokens - a->n_tokens), least);
}

static double over(const struct ho_curve *curve, const struct ho_network *network, double n_bytes)
{
    double bytes_per_s = curve->bytes_per_s;
    if (network->bytes_per_s > 0)
        bytes_per_s = fmin(bytes_per_s, network->bytes_per_s);
    if (network->latency_s > 0)
        bytes_per_s =
            fmin(bytes_per_s, (double)BATON_HANDOFF_CREDIT_BYTES / (2 * network->latency_s));
    return curve->setup_s + network->latency_s + n_bytes / bytes_per_s;
}

/* Returns the bytes of n_tokens; whole blocks are transferred. */
static double bytes_of(const struct ho_curve *curve, double n_tokens)
{
    return ceil(n_tokens / curve->block_tokens) * curve->block_tokens * curve->bytes_per_token;
}

double ho_transfer_s(const struct ho_curve *curve, const struct ho_network *network,
                     double n_tokens)
{
    return over(curve, network, bytes_of(curve, n_tokens));
}

double ho_exposed_s(const struct ho_curve *curve, const struct ho_network *network, double n_tokens)
{
    double last_s = over(curve, network, bytes_of(curve, n_tokens) / curve->n_layers);
    double rest_s = ho_transfer_s(curve, network, n_tokens) - ho_prefill_s(curve, n_tokens);
    return fmax(rest_s, last_s);
}

int ho_break_even(const struct ho_curve *curve, const struct ho_network *network, int max_tokens,
                  ho_cost_fn *cost)
{
    /* Searched downwards: the hand-off must cost less for every longer prompt too. */
    int n = max_tokens;
    while (n > 0 && cost(curve, network, n) < ho_prefill_s(curve, n))
        n--;
    return n < max_tokens ? n + 1 : 0;
}
