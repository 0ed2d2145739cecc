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

/* The first load after `last` (-1: of all) that fits into n_rows beside others; -1: none. */
static int next_load(const struct pf_load *loads, int n_loads, int last, int n_rows,
                     double tokens_per_s)
{
    int best = -1;
    for (int i = 0; i < n_loads; i++)
        if ((last < 0 || (!loads[i].alone && is_before(loads, last, i, tokens_per_s))) &&
            fitting(&loads[i], n_rows) && (best < 0 || is_before(loads, i, best, tokens_per_s)))
            best = i;
    return best;
}

int pf_plan_pass(const struct pf_load *loads, int n_loads, const struct pf_pass_limits *limits,
                 struct pf_share *shares)
{
    int n_shares = 0, n_rows = limits->chunk, last = -1;
    while (n_shares < limits->max_shares && n_rows > 0 && !(last >= 0 && loads[last].alone)) {
        last = next_load(loads, n_loads, last, n_rows, limits->tokens_per_s);
        if (last < 0)
            break;
        shares[n_shares] =
            (struct pf_share){.load = last, .n_tokens = fitting(&loads[last], n_rows)};
        n_rows -= shares[n_shares++].n_tokens;
    }
    return n_shares;
}
