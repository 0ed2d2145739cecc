#include "common/policy/prefill_scheduler.h"

struct list {
    const struct baton_prefill_candidate *candidates;
    int n;
    const struct baton_prefill_limits *limits;
};

static double rank_of(const struct list *list, int i)
{
    static const double ageing = 0.25;
    const struct baton_prefill_candidate *candidate = &list->candidates[i];
    return candidate->n_remaining - ageing * candidate->waited_s * list->limits->tokens_per_s;
}

/* Returns the number of the candidate's tokens that fit into n_free; 0 when none do. */
static int fitting(const struct list *list, int i, int n_free)
{
    int n_remaining = list->candidates[i].n_remaining, block_tokens = list->limits->block_tokens;
    if (list->limits->whole)
        return n_remaining <= n_free || n_free == list->limits->max_tokens ? n_remaining : 0;
    return n_remaining <= n_free ? n_remaining : n_free / block_tokens * block_tokens;
}

/* Orders equal ranks by their index in the list, so that no two candidates are equal. */
static bool is_before(const struct list *list, int a, int b)
{
    enum baton_priority of_a = list->candidates[a].priority, of_b = list->candidates[b].priority;
    if (of_a != of_b)
        return of_a == list->limits->first;
    double rank_a = rank_of(list, a), rank_b = rank_of(list, b);
    return rank_a < rank_b || (rank_a == rank_b && a < b);
}

/* Returns, of the candidates after `last` in rank (-1: of all), the first one that fits into n_free
 * tokens and, if sharing, may share a step; -1: none. */
static int next_candidate(const struct list *list, int last, bool sharing, int n_free)
{
    int best = -1;
    for (int i = 0; i < list->n; i++)
        if (!(sharing && list->candidates[i].alone) && fitting(list, i, n_free) &&
            (last < 0 || is_before(list, last, i)) && (best < 0 || is_before(list, i, best)))
            best = i;
    return best;
}

static int first_candidate(const struct list *list)
{
    int max_tokens = list->limits->max_tokens;
    /* Prompts that run alone and those that share a step take turns, but no turn is left unused. */
    int first = next_candidate(list, -1, list->limits->others_turn, max_tokens);
    return first >= 0 ? first : next_candidate(list, -1, false, max_tokens);
}

int baton_prefill_schedule(const struct baton_prefill_candidate *candidates, int n,
                           const struct baton_prefill_limits *limits,
                           struct baton_prefill_chunk *chunks)
{
    const struct list list = {.candidates = candidates, .n = n, .limits = limits};
    int n_chunks = 0, n_free = limits->max_tokens, next = first_candidate(&list);
    while (next >= 0 && n_chunks < limits->max_chunks) {
        chunks[n_chunks] = (struct baton_prefill_chunk){.candidate = next,
                                                        .n_tokens = fitting(&list, next, n_free)};
        n_free -= chunks[n_chunks++].n_tokens;
        next = candidates[next].alone ? -1 : next_candidate(&list, next, true, n_free);
    }
    return n_chunks;
}
