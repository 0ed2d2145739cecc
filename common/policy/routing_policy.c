#include "common/policy/routing_policy.h"

#include <math.h>

/* Rates and step times that differ by at most this factor count as equal. */
#define SAME_FACTOR 2.0
/* The last step may have been disturbed: no worker counts as slower than this. */
#define MAX_SLOWER 4.0

/* A prefill worker with this many prompts, which take it this long, is backlogged. */
enum { BACKLOG_REQUESTS = 32 };
#define BACKLOG_S 1.0

double baton_routing_wait_s(int64_t n_tokens, double tokens_per_s)
{
    if (n_tokens <= 0)
        return 0;
    return tokens_per_s > 0 ? (double)n_tokens / tokens_per_s : NAN;
}

/* ---- prefill ---- */

static double best_rate(const struct baton_routing_prefill_view *views, size_t n)
{
    double best = 0;
    for (size_t i = 0; i < n; i++)
        if (views[i].tokens_per_s > best)
            best = views[i].tokens_per_s;
    return best > 0 ? best : 1; /* no rate is known: tokens are compared instead of times */
}

/* Returns the seconds until the prompt begins, less the seconds that its cached prefix saves. */
static double prefill_cost(enum baton_routing_policy policy,
                           const struct baton_routing_prefill_view *view, double best)
{
    bool same = !(view->tokens_per_s > 0) || view->tokens_per_s * SAME_FACTOR >= best;
    double rate = same ? best : view->tokens_per_s;
    int64_t matched = policy == BATON_ROUTING_PREFIX_AWARE ? view->matched_tokens : 0;
    return (double)(view->queued_tokens - matched) / rate;
}

static bool prefill_is_better(enum baton_routing_policy policy,
                              const struct baton_routing_prefill_view *a, double a_cost,
                              const struct baton_routing_prefill_view *b, double b_cost)
{
    if (policy == BATON_ROUTING_ROUND_ROBIN)
        return a->turn < b->turn;
    if (a_cost != b_cost)
        return a_cost < b_cost;
    if (policy == BATON_ROUTING_PREFIX_AWARE && a->matched_tokens != b->matched_tokens)
        return a->matched_tokens > b->matched_tokens;
    return a->turn < b->turn;
}

size_t baton_routing_prefill(enum baton_routing_policy policy,
                             const struct baton_routing_prefill_view *views, size_t n)
{
    double best = best_rate(views, n);
    size_t chosen = 0;
    double chosen_cost = prefill_cost(policy, &views[0], best);
    for (size_t i = 1; i < n; i++) {
        double cost = prefill_cost(policy, &views[i], best);
        if (prefill_is_better(policy, &views[i], cost, &views[chosen], chosen_cost)) {
            chosen = i;
            chosen_cost = cost;
        }
    }
    return chosen;
}

bool baton_routing_is_backlogged(int64_t n_requests, double wait_s)
{
    return n_requests >= BACKLOG_REQUESTS && !(wait_s <= BACKLOG_S);
}

/* ---- decode ---- */

static double fastest_step(const struct baton_routing_decode_view *views, size_t n)
{
    double fastest = 0;
    for (size_t i = 0; i < n; i++)
        if (views[i].step_s > 0 && (fastest == 0 || views[i].step_s < fastest))
            fastest = views[i].step_s;
    return fastest > 0 ? fastest : 1;
}

static double decode_cost(const struct baton_routing_decode_view *view, double fastest)
{
    double slower = view->step_s / fastest;
    if (slower <= SAME_FACTOR) /* a step also grows with its batch */
        slower = 1;
    return (double)view->n_requests * fmin(slower, MAX_SLOWER);
}

static bool decode_is_better(enum baton_routing_policy policy,
                             const struct baton_routing_decode_view *a, double a_cost,
                             const struct baton_routing_decode_view *b, double b_cost)
{
    if (policy == BATON_ROUTING_ROUND_ROBIN)
        return a->turn < b->turn;
    if (a_cost != b_cost)
        return a_cost < b_cost;
    if (policy == BATON_ROUTING_PREFIX_AWARE && a->matched_tokens != b->matched_tokens)
        return a->matched_tokens > b->matched_tokens;
    if (a->n_free_blocks != b->n_free_blocks)
        return a->n_free_blocks > b->n_free_blocks;
    return a->turn < b->turn;
}

size_t baton_routing_decode(enum baton_routing_policy policy,
                            const struct baton_routing_decode_view *views, size_t n)
{
    double fastest = fastest_step(views, n);
    size_t chosen = 0;
    double chosen_cost = decode_cost(&views[0], fastest);
    for (size_t i = 1; i < n; i++) {
        double cost = decode_cost(&views[i], fastest);
        if (decode_is_better(policy, &views[i], cost, &views[chosen], chosen_cost)) {
            chosen = i;
            chosen_cost = cost;
        }
    }
    return chosen;
}

/* ---- prefill by the decode worker ---- */

bool baton_routing_colocated_is_faster(const struct baton_routing_colocated_view *view)
{
    double colocated_rate =
        view->colocated_tokens_per_s > 0 ? view->colocated_tokens_per_s : view->tokens_per_s;
    double rate = view->tokens_per_s > 0 ? view->tokens_per_s : view->colocated_tokens_per_s;
    int64_t colocated_tokens = view->colocated_queued_tokens + view->prompt_tokens;
    int64_t tokens = view->queued_tokens + view->prompt_tokens + view->more_tokens;
    if (!(rate > 0)) /* nothing was measured yet: the shorter queue decides, then the shorter way */
        return view->colocated_queued_tokens <= view->queued_tokens && !(view->step_s > 0);
    return view->step_s + baton_routing_wait_s(colocated_tokens, colocated_rate) <
           view->handoff_s + baton_routing_wait_s(tokens, rate);
}
