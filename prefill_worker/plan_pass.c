#include "prefill_worker/plan_pass.h"

#include "common/engine/kernels/kv_block.h"

static double rank_of(const struct pf_load *load, double tokens_per_s)
{
    static const double ageing = 0.25;
    return load->n_remaining - ageing * load->waited_s * tokens_per_s;
}

/* How many of the load's tokens fit into n_rows; 0 when none do. */
static int fitting(const struct pf_load *load, int n_rows)
{
    return load->n_remaining <= n_rows ? load->n_remaining
                                       : n_rows / BATON_KV_BLOCK_TOKENS * BATON_KV_BLOCK_TOKENS;
}

/* Ranks are compared with the load's place in the list, so no two are equal. */
static bool is_before(const struct pf_load *loads, int a, int b, double tokens_per_s)
{
    double rank_a = rank_of(&loads[a], tokens_per_s), rank_b = rank_of(&loads[b], tokens_per_s);
    return rank_a < rank_b || (rank_a == rank_b && a < b);
}

/* The first of those that may share a pass, or of all, after `last` (-1: from the first on) that
 * fits into n_rows; -1: none. */
static int next_load(const struct pf_load *loads, int n_loads, int last, bool sharing, int n_rows,
                     double tokens_per_s)
{
    int best = -1;
    for (int i = 0; i < n_loads; i++)
        if (!(sharing && loads[i].alone) && fitting(&loads[i], n_rows) &&
            (last < 0 || is_before(loads, last, i, tokens_per_s)) &&
            (best < 0 || is_before(loads, i, best, tokens_per_s)))
            best = i;
    return best;
}

static int first_load(const struct pf_load *loads, int n_loads, const struct pf_pass_limits *limits)
{
    int first =
        next_load(loads, n_loads, -1, limits->others_turn, limits->chunk, limits->tokens_per_s);
    return first >= 0 ? first
                      : next_load(loads, n_loads, -1, false, limits->chunk, limits->tokens_per_s);
}

int pf_plan_pass(const struct pf_load *loads, int n_loads, const struct pf_pass_limits *limits,
                 struct pf_share *shares)
{
    int n_shares = 0, n_rows = limits->chunk, next = first_load(loads, n_loads, limits);
    while (next >= 0 && n_shares < limits->max_shares) {
        shares[n_shares] =
            (struct pf_share){.load = next, .n_tokens = fitting(&loads[next], n_rows)};
        n_rows -= shares[n_shares++].n_tokens;
        next = loads[next].alone
                   ? -1
                   : next_load(loads, n_loads, next, true, n_rows, limits->tokens_per_s);
    }
    return n_shares;
}
